import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { Parts, roverParts } from "../drivers/testing.ts";
import type { GpioMotor } from "../motor/gpio_motor.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import {
  sensorControlledBaseModel,
  wheeledBaseModel,
  wheeledOdometryModel,
} from "./base_models.ts";
import { corrector, type SensorControlledBase } from "./sensor_controlled_base.ts";
import { mixed, type WheeledBase } from "./wheeled_base.ts";
import type { WheeledOdometry } from "./wheeled_odometry.ts";

const call = testCall();
const SIZE = { width_mm: 200, wheel_circumference_mm: 300 };

async function rover() {
  const parts = await roverParts();
  const { environment } = parts;
  const base = await parts.add<WheeledBase>(
    "base",
    wheeledBaseModel(environment) as Model<unknown>,
    { left: ["left"], right: ["right"], ...SIZE },
  );
  const odometry = await parts.add<WheeledOdometry>(
    "odometry",
    wheeledOdometryModel(environment) as Model<unknown>,
    { base: "base", left_motors: ["left"], right_motors: ["right"], time_interval_msec: 20 },
  );
  return { parts, base, odometry };
}

const powers = (parts: Parts) =>
  ["left", "right"].map((side) =>
    parts.get<GpioMotor>(`rdk:component:motor/${side}`).isPowered().powerPct
  );

function near(found: number, wanted: number, off: number) {
  assert.ok(Math.abs(found - wanted) <= off, `${found} is not ${wanted} ± ${off}`);
}

Deno.test("a wheeled base drives and spins, and odometry follows it", async () => {
  const { parts, base, odometry } = await rover();
  await base.moveStraight({ distanceMm: 300n, mmPerSec: 600 }, call);
  await waitFor(() => Math.abs(odometry.getStatus().y_m - 0.3) < 0.03, { deadlineMs: 60_000 });
  near(odometry.getStatus().yaw_deg, 0, 8);
  const before = odometry.getStatus().yaw_deg;
  await base.spin({ angleDeg: 90, degsPerSec: 180 }, call);
  await waitFor(() => Math.abs(odometry.getStatus().yaw_deg - before - 90) < 8, {
    deadlineMs: 60_000,
  });
  const { coordinate } = odometry.getPosition({ extra: { return_relative_pos_m: true } });
  near(coordinate.latitude, 0.3, 0.05);
  assert.equal((await base.isMoving({}, call)).isMoving, false);
  odometry.doCommand({ reset: true });
  assert.ok(Math.abs(odometry.getStatus().y_m) < 0.01);
  await parts.close();
});

Deno.test("setVelocity() and setPower() drive until stop(); close() stops, too", async () => {
  const { parts, base, odometry } = await rover();
  await base.setPower({ linear: { y: 1 }, angular: { z: 1 } });
  assert.deepEqual(powers(parts), [0, 1]);
  await base.setVelocity({ linear: { y: -300 } });
  await waitFor(() => odometry.getLinearVelocity().linearVelocity.y < -0.15, {
    deadlineMs: 60_000,
  });
  await base.stop();
  assert.deepEqual(powers(parts), [0, 0]);
  for (
    const standing of [
      () => base.moveStraight({ distanceMm: 5n, mmPerSec: 0 }, call),
      () => base.moveStraight({ distanceMm: 0n, mmPerSec: 5 }, call),
      () => base.spin({ angleDeg: 5, degsPerSec: 0 }, call),
    ]
  ) {
    await base.setPower({ linear: { y: 1 } });
    await standing();
    assert.deepEqual(powers(parts), [0, 0]);
  }
  await assert.rejects(base.setPower({ linear: { y: NaN } }), /linear.y is NaN/);
  await base.setPower({ linear: { y: 0.5 } });
  await base.close();
  assert.deepEqual(powers(parts), [0, 0]);
  await parts.close();
});

Deno.test("stop() stops every motor, also when one of them fails", async () => {
  const stopped: string[] = [];
  const motor = (name: string, fails: boolean): [string, Resource] => [
    `rdk:component:motor/${name}`,
    {
      stop() {
        stopped.push(name);
        if (fails) throw new Error("no answer");
      },
    },
  ];
  const dependencies = new Map([motor("a", true), motor("b", false)]);
  const parts = new Parts();
  const base = await construct<WheeledBase, unknown>(
    wheeledBaseModel(parts.environment) as Model<unknown>,
    { left: ["a"], right: ["b"], ...SIZE },
    { dependencies },
  );
  await assert.rejects(base.stop(), /motors did not stop: a: no answer/);
  assert.deepEqual(stopped, ["a", "b"]);
});

Deno.test("a sensor-controlled base turns and drives by what its sensors measure", async () => {
  const { parts, odometry } = await rover();
  const base = await parts.add<SensorControlledBase>(
    "guided",
    sensorControlledBaseModel(parts.environment) as Model<unknown>,
    { base: "base", movement_sensor: ["odometry"], control_frequency_hz: 20 },
  );
  await base.spin({ angleDeg: -45, degsPerSec: 90 }, call);
  await waitFor(() => Math.abs(odometry.getStatus().yaw_deg + 45) < 8, { deadlineMs: 60_000 });
  odometry.doCommand({ reset: true });
  await base.moveStraight({ distanceMm: 200n, mmPerSec: 300 }, call);
  await waitFor(() => Math.abs(odometry.getStatus().y_m - 0.2) < 0.06, { deadlineMs: 60_000 });
  await base.setVelocity({ linear: { y: 200 }, angular: { z: 0 } }, call);
  await waitFor(() => odometry.getLinearVelocity().linearVelocity.y > 0.1, { deadlineMs: 60_000 });
  await base.stop(call);
  assert.deepEqual(powers(parts), [0, 0]);
  await parts.close();
});

/** A base that is driven by a sensor that answers when the test wants. */
async function guided() {
  const clock = new FakeClock();
  let answer = Promise.withResolvers<void>();
  answer.resolve();
  let speed = 0;
  const base = {
    setVelocity: ({ linear }: { linear: { y: number } }) => void (speed = linear.y),
    stop: () => void (speed = 0),
  };
  const sensor = {
    getProperties: () => ({ linearVelocitySupported: true }),
    getLinearVelocity: () => answer.promise.then(() => ({ linearVelocity: { y: 0.1 } })),
  };
  const dependencies = new Map<string, Resource>([
    ["rdk:component:base/base", base as Resource],
    ["rdk:component:movement_sensor/gps", sensor as unknown as Resource],
  ]);
  const made = await construct<SensorControlledBase, unknown>(
    sensorControlledBaseModel(testEnvironment({ clock })) as Model<unknown>,
    { base: "base", movement_sensor: ["gps"] },
    { dependencies },
  );
  return {
    ...{ clock, base: made },
    speed: () => speed,
    silence: () => answer = Promise.withResolvers(),
    answer: () => answer.resolve(),
  };
}

Deno.test("a sensor-controlled base stops when its sensor answers no more", async () => {
  const { base, clock, speed, silence } = await guided();
  const moving = assert.rejects(
    base.moveStraight({ distanceMm: 10_000n, mmPerSec: 100 }, call),
    /gps has not answered for 3 s/,
  );
  await clock.advance(500);
  assert.equal(speed(), 100);
  silence();
  await clock.advance(4_000);
  await moving;
  assert.equal(speed(), 0);
});

Deno.test("a sensor-controlled base that was stopped is not moved by a late measurement", async () => {
  const { base, clock, speed, silence, answer } = await guided();
  await base.setVelocity({ linear: { y: 100 } }, call);
  await clock.advance(500);
  assert.ok(speed() > 0);
  silence();
  await clock.advance(100);
  await base.stop(call);
  answer();
  await clock.advance(100);
  assert.equal(speed(), 0);
});

Deno.test("mixed() keeps the ratio of the sides when power does not suffice", () => {
  assert.deepEqual(mixed(0.5, 0), { left: 0.5, right: 0.5 });
  assert.deepEqual(mixed(1, 0.5), { left: 0.5 / 1.5, right: 1 });
  assert.deepEqual(mixed(0, -1), { left: 1, right: -1 });
});

Deno.test("corrector() makes up for what a velocity is off", () => {
  const next = corrector(1, undefined);
  const orders = [next(0.5, 0), next(0.5, 1), next(0.5, 1)];
  assert.deepEqual(orders, [1, 1.4, 1.8]);
  const power = corrector(1, { type: "linear_velocity", p: 0.5, i: 0, d: 0 });
  assert.equal(power(0, 0.1), 0.5);
  assert.equal(corrector(2, undefined)(undefined, 1), 2);
});
