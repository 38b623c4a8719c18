import assert from "node:assert/strict";
import type { Resource } from "../../resources/graph/resource.ts";
import { construct } from "../testing.ts";
import type { GpioServo } from "./gpio_servo.ts";
import { gpioServoModel } from "./gpio_servo_model.ts";

Deno.test("move() sets the width of the pulses; stop() ends them", async () => {
  const duties: number[] = [];
  const board = {
    setPWM: ({ dutyCyclePct }: { dutyCyclePct: number }) => (duties.push(dutyCyclePct), {}),
    setPWMFrequency: (
      { frequencyHz }: { frequencyHz: bigint },
    ) => (assert.equal(frequencyHz, 50n), {}),
  } as Resource;
  const dependencies = new Map([["rdk:component:board/b", board]]);
  const make = (attributes = {}) =>
    construct<GpioServo, unknown>(gpioServoModel, { board: "b", pin: "3", ...attributes }, {
      dependencies,
    });
  const servo = await make({ starting_position_deg: 90 });
  await servo.move({ angleDeg: 0 });
  await servo.move({ angleDeg: 180 });
  assert.deepEqual(duties, [0.075, 0.025, 0.125]);
  await assert.rejects(servo.move({ angleDeg: 181 }), /goes from 0 to 180 degrees/);
  assert.equal(servo.getPosition().positionDeg, 180);
  await servo.stop();
  assert.equal(duties.at(-1), 0);
  await assert.rejects(
    make({ min_angle_deg: 90, max_angle_deg: 10 }),
    /min_angle_deg must be less/,
  );
});
