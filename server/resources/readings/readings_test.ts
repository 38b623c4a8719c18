import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { PowerSensorService } from "../../../shared/gen/viam/component/powersensor/v1/powersensor_pb.ts";
import type { Driver } from "../graph/driver.ts";
import type { Resource } from "../graph/resource.ts";
import { readingsOf } from "./readings_of.ts";

const call = { signal: new AbortController().signal };

const movement = (driver: Driver<typeof MovementSensorService>) =>
  readingsOf("rdk:component:movement_sensor", "m", driver, { k: 1 }, call);

const power = (driver: Driver<typeof PowerSensorService>) =>
  readingsOf("rdk:component:power_sensor", "p", driver, undefined, call);

const unimplemented = () => {
  throw new ConnectError("no", Code.Unimplemented);
};

Deno.test("readingsOf() has what a movement sensor says it supports", async () => {
  const asked: unknown[] = [];
  const readings = await movement({
    getProperties: () => ({ compassHeadingSupported: true, positionSupported: true }),
    getCompassHeading: ({ name, extra }) => {
      asked.push(name, extra);
      return { value: 90 };
    },
    getPosition: () => ({ coordinate: { latitude: 1, longitude: 2 }, altitudeM: 3 }),
    getLinearVelocity: () => assert.fail("it is not supported"),
  });
  assert.deepEqual(readings, {
    compass: 90,
    position: { lat: 1, lng: 2, _type: "geopoint" },
    altitude: 3,
  });
  assert.deepEqual(asked, ["m", { k: 1 }]);
});

Deno.test("readingsOf() leaves out what a movement sensor cannot, and fails with what fails", async () => {
  const readings = await movement({
    getPosition: unimplemented,
    getAngularVelocity: () => ({ angularVelocity: { z: 4 } }),
  });
  assert.deepEqual(readings, { angular_velocity: { x: 0, y: 0, z: 4, _type: "angular_velocity" } });
  await assert.rejects(
    async () =>
      await movement({
        getPosition: () => {
          throw new Error("no satellites");
        },
      }),
    /no satellites/,
  );
});

Deno.test("readingsOf() has what a power sensor measures", async () => {
  assert.deepEqual(
    await power({
      getVoltage: unimplemented,
      getCurrent: () => ({ amperes: 2, isAc: true }),
      getPower: () => ({ watts: 0 }),
    }),
    { current: 2, is_ac: true, power: 0 },
  );
});

Deno.test("readingsOf() prefers the driver's own readings", async () => {
  const own = { getReadings: () => ({ own: true }), getVoltage: unimplemented };
  assert.deepEqual(await power(own as Resource), { own: true });
  assert.equal(readingsOf("rdk:component:sensor", "s", {}, undefined, call), undefined);
});
