import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { fakeGenericModel } from "../../models/fake/generic.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import type { Readings, Sensor } from "../../resources/graph/resource.ts";
import { MaintenanceGate, type RestartPermission } from "./maintenance.ts";

async function ask(
  name: string,
  reading: () => Readings | Promise<Readings>,
  waitMs = 0,
): Promise<{ allowed: boolean; restart: RestartPermission; errors: string[] }> {
  const clock = new FakeClock();
  const log = memoryLogger();
  const sensor: Sensor = { getReadings: reading };
  const registry = new ModelRegistry()
    .register({
      api: "rdk:component:sensor",
      model: "t:test:m",
      attributes: anyAttributes,
      construct: () => sensor,
    })
    .register(fakeGenericModel("rdk:component:generic"));
  const resources = new ResourceManager({ registry, clock, log });
  const entry = { attributes: {}, dependsOn: [] };
  await resources.apply([
    { ...entry, name: "s", api: "rdk:component:sensor", model: "t:test:m" },
    { ...entry, name: "g", api: "rdk:component:generic", model: "rdk:builtin:fake" },
    { ...entry, name: "broken", api: "rdk:component:sensor", model: "t:test:none" },
  ], "r1");
  log.entries.length = 0;
  const maintenance = { sensor_name: name, maintenance_allowed_key: "ok" };
  const gate = new MaintenanceGate({ resources, clock, log });
  const answer = Promise.all([gate.allowsChanges(maintenance), gate.allowsRestart(maintenance)]);
  await clock.advance(waitMs);
  const [allowed, restart] = await answer;
  await resources.close();
  return { allowed, restart, errors: log.messages("error") };
}

const SENSOR = "rdk:component:sensor/s";

const YES: RestartPermission = { allowed: true, reason: "" };

Deno.test("MaintenanceGate allows everything when there is no maintenance sensor", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const resources = new ResourceManager({ registry: new ModelRegistry(), clock, log });
  const gate = new MaintenanceGate({ resources, clock, log });
  assert.equal(await gate.allowsChanges(undefined), true);
  assert.deepEqual(await gate.allowsRestart(undefined), YES);
  assert.deepEqual(log.messages(), []);
});

Deno.test("MaintenanceGate follows the reading", async () => {
  const open = await ask(SENSOR, () => ({ ok: true }));
  assert.deepEqual(open, { allowed: true, restart: YES, errors: [] });
  const closed = await ask(SENSOR, () => ({ ok: false }));
  const restart = { allowed: false, reason: "its maintenance sensor forbids it" };
  assert.deepEqual(closed, { allowed: false, restart, errors: [] });
});

Deno.test("MaintenanceGate allows changes and no restart when the name leads nowhere", async () => {
  const none = await ask("rdk:component:sensor/none", () => ({ ok: true }));
  const form = await ask("s", () => ({ ok: true }));
  const cases = [
    [none, /could not find sensor named rdk:component:sensor\/none/],
    [form, /sensor_name s in maintenance config is not in a supported format/],
  ] as const;
  for (const [{ allowed, restart, errors }, message] of cases) {
    assert.equal(allowed, true, "it can be repaired");
    assert.equal(restart.allowed, false);
    assert.match(restart.reason, message);
    assert.match(restart.reason, /not restarted until the configuration is fixed/);
    assert.deepEqual(errors, [restart.reason]);
  }
});

Deno.test("MaintenanceGate allows nothing when the reading is not to be had or not clear", async () => {
  const cases: [string, () => Readings | Promise<Readings>, RegExp, number?][] = [
    [SENSOR, () => ({ other: true }), /has no reading ok/],
    [SENSOR, () => ({ ok: "true" }), /ok is "true", not true or false/],
    [SENSOR, () => ({ ok: 1 }), /ok is 1, not true or false/],
    [SENSOR, () => ({ ok: null }), /ok is null, not true or false/],
    [SENSOR, () => Promise.reject(new Error("no bus")), /could not be read: no bus/],
    [SENSOR, () => new Promise(() => {}), /took longer than 5000 ms/, 5_000],
    ["rdk:component:sensor/broken", () => ({ ok: true }), /unknown resource type/],
    ["rdk:component:generic/g", () => ({ ok: true }), /not a sensor/],
  ];
  for (const [name, reading, message, waitMs] of cases) {
    const { allowed, restart, errors } = await ask(name, reading, waitMs);
    assert.equal(allowed, false, name);
    assert.equal(restart.allowed, false, name);
    assert.match(restart.reason, message);
    assert.match(errors[0]!, message);
  }
});
