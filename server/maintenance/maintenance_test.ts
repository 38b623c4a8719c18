import assert from "node:assert/strict";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { FakeClock } from "../../shared/time/fake_clock.ts";
import { fakeGenericModel } from "../models/fake/generic.ts";
import { anyAttributes } from "../resources/attributes.ts";
import { ResourceManager } from "../resources/manager.ts";
import { ModelRegistry } from "../resources/registry.ts";
import type { Readings, Sensor } from "../resources/resource.ts";
import { MaintenanceGate } from "./maintenance.ts";

async function ask(
  name: string,
  reading: () => Readings | Promise<Readings>,
  waitMs = 0,
): Promise<{ allowed: boolean; errors: string[] }> {
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
  const answer = new MaintenanceGate({ resources, clock, log }).allows(maintenance);
  await clock.advance(waitMs);
  const allowed = await answer;
  await resources.close();
  return { allowed, errors: log.messages("error") };
}

const SENSOR = "rdk:component:sensor/s";

Deno.test("MaintenanceGate allows() is true when there is no maintenance sensor", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const resources = new ResourceManager({ registry: new ModelRegistry(), clock, log });
  const gate = new MaintenanceGate({ resources, clock, log });
  assert.equal(await gate.allows(undefined), true);
  assert.deepEqual(log.messages(), []);
});

Deno.test("MaintenanceGate allows() follows the reading", async () => {
  assert.deepEqual(await ask(SENSOR, () => ({ ok: true })), { allowed: true, errors: [] });
  assert.deepEqual(await ask(SENSOR, () => ({ ok: false })), { allowed: false, errors: [] });
});

Deno.test("MaintenanceGate allows() is true, with an error, when the name leads nowhere", async () => {
  const none = await ask("rdk:component:sensor/none", () => ({ ok: false }));
  assert.equal(none.allowed, true);
  assert.match(none.errors[0]!, /could not find sensor named rdk:component:sensor\/none/);
  const form = await ask("s", () => ({ ok: false }));
  assert.equal(form.allowed, true);
  assert.match(form.errors[0]!, /sensor_name s in maintenance config is not in a supported format/);
});

Deno.test("MaintenanceGate allows() is false when the reading is not to be had or not clear", async () => {
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
    const { allowed, errors } = await ask(name, reading, waitMs);
    assert.equal(allowed, false, name);
    assert.match(errors[0]!, message);
  }
});
