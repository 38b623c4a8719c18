import assert from "node:assert/strict";
import type { SensorsDriver } from "../../resources/readings/sensors_driver.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { fakePowerSensorModel } from "../fake/power_sensor.ts";
import { construct, testCall } from "../testing.ts";
import { sensorsServiceModel } from "./sensors_service.ts";

const SENSOR = { api: "rdk:component:sensor", name: "s" };
const POWER = { api: "rdk:component:power_sensor", name: "p" };

async function setUp() {
  const dependencies = new Map<string, Resource>([
    ["rdk:component:sensor/s", { getReadings: () => ({ a: 1 }) } as Resource],
    ["rdk:component:power_sensor/p", await construct(fakePowerSensorModel)],
    ["rdk:component:sensor/mute", {}],
    ["rdk:component:motor/m", {}],
  ]);
  return await construct<SensorsDriver, unknown>(sensorsServiceModel, {}, { dependencies });
}

Deno.test("listSensors() names all that can be read", async () => {
  const names = (await setUp()).listSensors().map(({ api, name }) => `${api}/${name}`);
  assert.deepEqual(names, [
    "rdk:component:sensor/s",
    "rdk:component:power_sensor/p",
    "rdk:component:sensor/mute",
  ]);
});

Deno.test("readSensors() reads sensors of several APIs at once", async () => {
  const found = await (await setUp()).readSensors([POWER, SENSOR], undefined, testCall());
  assert.deepEqual(found, [
    { sensor: POWER, readings: { voltage: 1.5, current: 2.2, is_ac: true, power: 9.8 } },
    { sensor: SENSOR, readings: { a: 1 } },
  ]);
});

Deno.test("readSensors() names the sensor that is missing or fails", async () => {
  const service = await setUp();
  const read = (name: string) => service.readSensors([{ ...SENSOR, name }], undefined, testCall());
  await assert.rejects(read("x"), /there is no sensor rdk:component:sensor\/x that is ready/);
  await assert.rejects(read("mute"), /rdk:component:sensor\/mute: it has no readings/);
});
