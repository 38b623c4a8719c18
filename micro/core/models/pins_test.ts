import assert from "node:assert/strict";
import type { Model } from "../resources/models.ts";
import { methodOf } from "../resources/apis.ts";
import { LogQueue } from "../log/log_queue.ts";
import { ResourceGraph } from "../resources/graph.ts";
import { FakeHost } from "../testing.ts";
import { fakes } from "./fakes.ts";
import { i2cSensors } from "./i2c_sensors.ts";
import { pinModels } from "./pins.ts";
import { wheeledBase } from "./wheeled_base.ts";

const MODELS: readonly Model[] = [...fakes, ...pinModels, ...i2cSensors, wheeledBase];

/** A host whose pins and registers a test reads and sets. */
function boardHost() {
  const host = new FakeHost();
  const levels = new Map<string, boolean>();
  const waves = new Map<string, [number, number]>();
  const watches = new Map<string, (high: boolean, timeUs: number) => void>();
  const sent: number[][] = [];
  const answers = new Map<number, number[]>();
  host.gpio = {
    mode: () => {},
    read: (pin) => levels.get(pin) ?? false,
    write: (pin, high) => void levels.set(pin, high),
    watch: (pin, onChange) => {
      watches.set(pin, onChange);
      return { close: () => void watches.delete(pin) };
    },
  };
  host.pwm = { set: (pin, hz, duty) => void waves.set(pin, [hz, duty]) };
  host.adc = { read: () => ({ value: 2048, min: 0, max: 3.3, stepSize: 3.3 / 4096 }) };
  host.i2c = {
    transfer: (_bus, _address, write, length) => {
      if (length === 0) sent.push([...write]);
      return Uint8Array.from(length === 0 ? [] : answers.get(write[0] ?? 0) ?? []);
    },
  };
  const edge = (pin: string, high: boolean) => {
    levels.set(pin, high);
    watches.get(pin)?.(high, 0);
  };
  return { host, levels, waves, watches, edge, sent, answers };
}

function built(host: FakeHost, ...parts: [string, string, string, Record<string, unknown>][]) {
  const graph = new ResourceGraph(host, MODELS, new LogQueue(host));
  graph.apply(
    parts.map(([name, api, model, attributes]) => ({
      name,
      api: `rdk:component:${api}`,
      model: `rdk:builtin:${model}`,
      attributes: attributes as never,
      dependsOn: [],
    })),
    "1",
  );
  assert.deepEqual(graph.states.map(({ error }) => error).filter(Boolean), []);
  return async (name: string, method: string, request: Record<string, unknown> = {}) => {
    const { resource } = graph.stateOf(name) ?? {};
    assert.ok(resource);
    return await methodOf(resource, method)?.({ name, ...request }) as Record<string, unknown>;
  };
}

Deno.test("motor and wheeled base drive pins: direction, power, stop", async () => {
  const { host, levels, waves } = boardHost();
  const pins = (n: number) => ({ pins: { a: n, b: n + 1, pwm: n + 2 } });
  const call = built(
    host,
    ["l", "motor", "gpio", pins(1)],
    ["r", "motor", "gpio", pins(11)],
    ["base", "base", "wheeled", {
      left: ["l"],
      right: ["r"],
      width_mm: 200,
      wheel_circumference_mm: 300,
    }],
  );
  await call("base", "SetPower", { linear: { x: 0, y: 0.5, z: 0 }, angular: { x: 0, y: 0, z: 1 } });
  assert.deepEqual([levels.get("1"), levels.get("2"), levels.get("11")], [false, true, true]);
  assert.deepEqual([waves.get("3")?.[1], waves.get("13")?.[1]], [0.5 / 1.5, 1]);
  await call("base", "Stop");
  assert.deepEqual([waves.get("3")?.[1], waves.get("13")?.[1]], [0, 0]);
});

Deno.test("servo, switch, encoder, analogue sensor and board read and write their pins", async () => {
  const { host, levels, waves, edge } = boardHost();
  const call = built(
    host,
    ["servo", "servo", "gpio", { pin: "5" }],
    ["relay", "switch", "gpio", { pin: "6" }],
    ["wheel", "encoder", "incremental", { pins: { a: "7", b: "8" } }],
    ["light", "sensor", "analog", { pin: "A0", key: "lux", scale: 100 }],
    ["board", "board", "board", { digital_interrupts: [{ name: "flow", pin: "9" }] }],
  );
  await call("servo", "Move", { angleDeg: 90 });
  assert.deepEqual(waves.get("5"), [50, 0.075]);
  await call("relay", "SetPosition", { position: 1 });
  assert.equal(levels.get("6"), true);
  for (const [pin, high] of [["7", true], ["8", true], ["7", false], ["8", false]] as const) {
    edge(pin, high);
  }
  assert.equal((await call("wheel", "GetPosition"))["value"], 4);
  const { readings } = await call("light", "GetReadings") as { readings: Record<string, number> };
  assert.equal(Math.round(readings["lux"] ?? 0), 165);
  edge("9", true);
  edge("9", false);
  const count = { digitalInterruptName: "flow" };
  assert.equal((await call("board", "GetDigitalInterruptValue", count))["value"], 2);
});

Deno.test("sensors on I2C turn registers into units", async () => {
  const { host, sent, answers } = boardHost();
  answers.set(2, [0x1f, 0x40]).set(4, [0xff, 0x38]).set(3, [0, 100]).set(0x75, [0x68]);
  answers.set(0x3b, [0, 0, 0xc0, 0, 0x40, 0, 0, 0, 0, 131, 0, 0, 0, 0]);
  const call = built(
    host,
    ["power", "power_sensor", "ina219", {}],
    ["imu", "movement_sensor", "mpu6050", {}],
  );
  assert.deepEqual(sent[1], [5, 0x10, 0x62]);
  assert.equal((await call("power", "GetVoltage"))["volts"], 4);
  assert.equal(Number((await call("power", "GetCurrent"))["amperes"]).toFixed(4), "-0.0195");
  const { linearAcceleration } = await call("imu", "GetLinearAcceleration");
  assert.deepEqual(linearAcceleration, { x: 0, y: -9.80665, z: 9.80665 });
  const { angularVelocity } = await call("imu", "GetAngularVelocity");
  assert.deepEqual(angularVelocity, { x: 1, y: 0, z: 0 });
});

Deno.test("a driver on a device without its hardware says what is missing", () => {
  const host = new FakeHost();
  const graph = new ResourceGraph(host, MODELS, new LogQueue(host));
  graph.apply([{
    name: "relay",
    api: "rdk:component:switch",
    model: "rdk:builtin:gpio",
    attributes: { pin: 4 },
    dependsOn: [],
  }], "1");
  assert.match(graph.states[0]?.error ?? "", /this device has no GPIO pins/);
});
