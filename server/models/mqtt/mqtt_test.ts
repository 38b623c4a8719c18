import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import mqtt from "mqtt";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { mqttModel } from "./mqtt_model.ts";

const DEADLINE = { deadlineMs: 30_000 };

/** A broker on a free port, for one user. */
async function startBroker(dir: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
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
  await sensor.close!();
  await assert.rejects(make({ url: "http://a", topics: ["a"] }), /an address mqtt:\/\/host/);
  await assert.rejects(make({ url: "mqtt://a", topics: ["a#"] }), /a topic with \+ and #/);
});
