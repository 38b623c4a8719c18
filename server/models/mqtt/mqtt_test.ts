import { writeAll } from "../../../shared/base/files/write_all.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import mqtt from "mqtt";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { mqttModel } from "./mqtt_model.ts";

const DEADLINE = { deadlineMs: 60_000 };

/** A broker on a free port, for one user. */
async function startBroker(dir: string) {
  const port = freePort();
  const passwords = join(dir, "passwords");
  await new Deno.Command("mosquitto_passwd", { args: ["-b", "-c", passwords, "me", "secret"] })
    .output();
  const config = join(dir, "mosquitto.conf");
  await Deno.writeTextFile(
    config,
    `listener ${port} 127.0.0.1\nallow_anonymous false\npassword_file ${passwords}\nuser root\n`,
  );
  const start = () =>
    new Deno.Command("mosquitto", { args: ["-c", config], stdout: "null", stderr: "null" }).spawn();
  return { port, start };
}

const make = (attributes: JsonObject) =>
  construct<Sensor, unknown>(mqttModel(testEnvironment()), attributes);
const status = (sensor: Sensor) => sensor.getStatus!(testCall()) as JsonObject;
const read = (sensor: Sensor) => sensor.getReadings(undefined, testCall());

Deno.test({
  name: "mqtt sensor reads the last message of each topic, also after the broker was gone",
  ignore: ignoreWithout(import.meta.url, "mosquitto"),
  async fn() {
    const dir = await Deno.makeTempDir();
    const { port, start } = await startBroker(dir);
    const url = `mqtt://127.0.0.1:${port}`;
    let broker = start();
    const account = { username: "me", password: "secret" };
    const sensor = await make({ url, topics: ["room/+/temperature", "door"], ...account });
    await waitFor(() => status(sensor)["error"] === undefined, DEADLINE);
    assert.throws(() => read(sensor), /nothing was published/);
    const publisher = mqtt.connect(url, { ...account, reconnectPeriod: 200 });
    publisher.on("error", () => {});
    await publisher.publishAsync("room/a/temperature", "21.5");
    await publisher.publishAsync("room/b/temperature", '{"celsius": 19}');
    await publisher.publishAsync("room/b/humidity", "40");
    await publisher.publishAsync("door", "x".repeat(70_000));
    await publisher.publishAsync("door", "open");
    await waitFor(async () => (await read(sensor))["door"] === "open", DEADLINE);
    assert.deepEqual(read(sensor), {
      "room/a/temperature": 21.5,
      "room/b/temperature": { celsius: 19 },
      door: "open",
    });
    assert.equal(status(sensor)["dropped_messages"], 1);
    broker.kill("SIGKILL");
    await broker.status;
    await waitFor(() => status(sensor)["error"], DEADLINE);
    broker = start();
    await waitFor(() => status(sensor)["error"] === undefined, DEADLINE);
    await publisher.publishAsync("door", "shut");
    await waitFor(async () => (await read(sensor))["door"] === "shut", DEADLINE);
    const stranger = await make({ url, topics: ["#"], username: "me", password: "wrong" });
    await waitFor(
      () => /check username and password/.test(String(status(stranger)["error"])),
      DEADLINE,
    );
    await stranger.close!();
    await sensor.close!();
    await publisher.endAsync(true);
    broker.kill("SIGKILL");
    await broker.status;
    await Deno.remove(dir, { recursive: true });
  },
});

Deno.test("mqtt sensor says when nobody listens, and refuses wrong attributes", async () => {
  const sensor = await make({ url: "mqtt://127.0.0.1:1", topics: ["a"] });
  await waitFor(() => /nobody listens there/.test(String(status(sensor)["error"])), DEADLINE);
  assert.throws(() => read(sensor), /mqtt:\/\/127.0.0.1:1: nobody listens/);
  assert.match(sensor.problem!() ?? "", /nobody listens there; check the address/);
  await sensor.close!();
  await assert.rejects(make({ url: "http://a", topics: ["a"] }), /an address mqtt:\/\/host/);
  await assert.rejects(make({ url: "mqtt://a", topics: ["a#"] }), /a topic with \+ and #/);
});

/** Who accepts every subscription and then sends what it likes. */
function hostileBroker(send: (connection: Deno.Conn) => Promise<void>) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const ended = Promise.withResolvers<void>();
  const serve = async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(1024);
      try {
        await connection.read(buffer);
        await connection.write(Uint8Array.of(0x20, 2, 0, 0));
        await connection.read(buffer);
        await connection.write(Uint8Array.of(0x90, 3, buffer[2]!, buffer[3]!, 0));
        await send(connection);
      } catch {
        ended.resolve();
      }
      connection.close();
    }
  };
  serve().catch(() => undefined);
  const { port } = listener.addr as Deno.NetAddr;
  return { url: `mqtt://127.0.0.1:${port}`, ended: ended.promise, close: () => listener.close() };
}

const utf8 = new TextEncoder();

/** A message to topic `t`, with a length of four bytes. */
function publish(topic: string, text: string): Uint8Array<ArrayBuffer> {
  const length = 2 + topic.length + text.length;
  const digits = [0, 7, 14, 21].map((shift) => length >>> shift & 127 | (shift < 21 ? 128 : 0));
  const bytes = [0x30, ...digits, 0, topic.length, ...utf8.encode(topic), ...utf8.encode(text)];
  return Uint8Array.from(bytes);
}

Deno.test("mqtt sensor leaves a broker whose message does not end", async () => {
  let sent = 0;
  const broker = hostileBroker(async (connection) => {
    await connection.write(Uint8Array.of(0x30, 0xff, 0xff, 0xff, 0x7f));
    const piece = new Uint8Array(65_536);
    while (sent < 200 * 2 ** 20) sent += await connection.write(piece);
  });
  const sensor = await make({ url: broker.url, topics: ["#"] });
  await broker.ended;
  assert.ok(sent < 64 * 2 ** 20, `it took ${sent} bytes`);
  await waitFor(() => /more than 16777216 bytes/.test(String(status(sensor)["error"])), DEADLINE);
  await sensor.close!();
  broker.close();
});

Deno.test("mqtt sensor keeps 4 MiB of messages, and readings that are nested as far as they may", async () => {
  const broker = hostileBroker(async (connection) => {
    await writeAll(connection, publish("deep", "[".repeat(20_000) + "]".repeat(20_000)));
    for (let n = 0; n < 100; n++) {
      await writeAll(connection, publish(`topic${n}`, "x".repeat(60_000)));
    }
    await connection.read(new Uint8Array(1));
  });
  const sensor = await make({ url: broker.url, topics: ["#"] });
  await waitFor(() => Number(status(sensor)["dropped_messages"]) > 25, DEADLINE);
  const readings = await read(sensor);
  assert.equal(typeof readings["deep"], "string");
  const bytes = Object.values(readings).map(String).join("").length;
  assert.ok(bytes <= 4 * 2 ** 20, `${bytes} bytes`);
  await sensor.close!();
  broker.close();
});
