import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { ptyPair } from "../serial/testing.ts";
import { crc16, RTU_FRAMING, TCP_FRAMING } from "./frames.ts";
import { modbusModel } from "./modbus_model.ts";
import type { ModbusSensor } from "./modbus_sensor.ts";

/** What a device with some registers answers. */
function answer(message: Uint8Array): Uint8Array {
  const view = new DataView(message.buffer, message.byteOffset);
  const [kind, address, count] = [message[0]!, view.getUint16(1), view.getUint16(3)];
  if (address > 100) return new Uint8Array([kind | 0x80, 2]);
  if (kind <= 2) return new Uint8Array([kind, 1, address & 1]);
  const words: Record<number, number> = { 0: 215, 1: 0xfff6, 2: 0x4248, 3: 0x0000 };
  const bytes = new Uint8Array(2 + 2 * count);
  bytes.set([kind, 2 * count]);
  for (let at = 0; at < count; at++) {
    new DataView(bytes.buffer).setUint16(2 + 2 * at, words[address + at] ?? 0);
  }
  return bytes;
}

const REGISTERS = [
  { name: "temperature", kind: "holding", address: 0, scale: 0.1, offset: -1 },
  { name: "below", kind: "input", address: 1, data_type: "int16" },
  { name: "flow", kind: "holding", address: 2, data_type: "float32" },
  { name: "door", kind: "coil", address: 7 },
];
const READINGS = { temperature: 20.5, below: -10, flow: 50, door: true };

const sensor = (attributes: JsonObject) =>
  construct<ModbusSensor, unknown>(modbusModel(testEnvironment()), attributes);

Deno.test("modbus sensor reads registers over TCP, and again after a lost connection", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const serving = (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      void (async () => {
        const buffer = new Uint8Array(260);
        for (let length; (length = await connection.read(buffer).catch(() => null));) {
          const id = buffer[0]! << 8 | buffer[1]!;
          const whole = TCP_FRAMING.wrap(1, id, answer(buffer.slice(7, length)));
          // In two pieces, as it may come.
          await connection.write(whole.subarray(0, 5));
          await connection.write(whole.subarray(5));
        }
      })();
    }
  })();
  const { port } = listener.addr as Deno.NetAddr;
  const it = await sensor({
    ...{ connection_type: "tcp", address: `127.0.0.1:${port}`, registers: REGISTERS },
    timeout: "20s",
  });
  const readings = await it.getReadings(undefined, testCall());
  assert.deepEqual({
    ...readings,
    temperature: Math.round(Number(readings["temperature"]) * 10) / 10,
  }, READINGS);
  connections[0]!.close();
  await assert.rejects(it.getReadings(undefined, testCall()), /127.0.0.1:\d+: /);
  assert.equal((await it.getReadings(undefined, testCall()))["flow"], 50);
  await it.close();
  listener.close();
  await serving;
  for (const connection of connections.slice(1)) connection.close();
});

Deno.test("modbus sensor has a problem until its device answers again, also when nobody reads", async () => {
  const clock = new FakeClock();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const it = await construct<ModbusSensor, unknown>(modbusModel(testEnvironment({ clock })), {
    ...{ connection_type: "tcp", address: `127.0.0.1:${port}` },
    registers: [{ name: "x", kind: "holding", address: 0 }],
  });
  const reading = it.getReadings(undefined, testCall()).catch(String);
  (await listener.accept()).close();
  assert.match(String(await reading), /127.0.0.1:\d+: /);
  assert.match(it.problem() ?? "", /^127.0.0.1:\d+: /);
  const accepted = listener.accept();
  await clock.advance(30_000);
  const connection = await accepted;
  const buffer = new Uint8Array(260);
  const length = await connection.read(buffer) ?? 0;
  const id = buffer[0]! << 8 | buffer[1]!;
  await connection.write(TCP_FRAMING.wrap(1, id, answer(buffer.slice(7, length))));
  await waitFor(() => it.problem() === undefined, { deadlineMs: 60_000 });
  assert.equal(clock.pendingTimers, 0);
  await it.close();
  connection.close();
  listener.close();
});

Deno.test("modbus sensor says what a device refuses and when it does not answer", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: freePort() });
  const accepted = listener.accept();
  const { port } = listener.addr as Deno.NetAddr;
  const it = await sensor({
    ...{ connection_type: "tcp", address: `127.0.0.1:${port}`, timeout: "50ms" },
    registers: [{ name: "x", kind: "holding", address: 0 }],
  });
  await assert.rejects(it.getReadings(undefined, testCall()), /does not answer; check its unit_id/);
  assert.match(String((it.getStatus() as JsonObject)["error"]), /does not answer/);
  (await accepted).close();
  listener.close();
  // What is left of the connection may be reset first.
  await waitFor(async () => {
    const failed = await it.getReadings(undefined, testCall()).catch(String);
    return /127\.0\.0\.1:\d+: it cannot be reached \(.*check address/.test(String(failed));
  }, { deadlineMs: 60_000, what: "a refused connection" });
  await it.close();
  const model = modbusModel(testEnvironment());
  const refused = (attributes: JsonObject) => () =>
    model.dependencies!(model.attributes.parse(attributes).attributes);
  const registers = [{ name: "x", kind: "holding", address: 0 }];
  assert.throws(refused({ connection_type: "rtu", registers }), /serial_path: found nothing/);
  assert.throws(
    refused({ connection_type: "tcp", address: "a:1", registers: [...registers, ...registers] }),
    /found x twice/,
  );
  assert.throws(refused({ connection_type: "tcp", address: "a", registers }), /host:port/);
  assert.throws(
    refused({ connection_type: "rtu", serial_path: "/etc/x", registers }),
    /file of \/dev/,
  );
});

Deno.test({
  name: "modbus sensor reads registers of a serial line, and names a babbling one",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { path, device } = ptyPair();
    const it = await sensor({
      ...{ connection_type: "rtu", serial_path: path, serial_baud_rate: 19_200, timeout: "20s" },
      registers: [...REGISTERS, { name: "gone", kind: "holding", address: 101 }].slice(0, 4),
    });
    const reading = it.getReadings(undefined, testCall());
    for (let each = 0; each < REGISTERS.length; each++) {
      const request = (await device.read())!;
      assert.equal(crc16(request), 0);
      await device.write(RTU_FRAMING.wrap(1, 0, answer(request.subarray(1, -2))));
    }
    assert.equal((await reading)["flow"], 50);
    const babbled = it.getReadings(undefined, testCall());
    await device.read();
    await device.write(new Uint8Array(500).fill(0x55));
    await assert.rejects(babbled, /is no answer of Modbus; check the line's speed and parity/);
    await it.close();
    await device.close();
  },
});

Deno.test("crc16() is that of the specification's example", () => {
  assert.equal(crc16(new Uint8Array([0x02, 0x07])), 0x1241);
});
