import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { useDriver } from "../drivers/dependency.ts";
import { roverParts } from "../drivers/testing.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import type { GpioMotor } from "./gpio_motor.ts";
import type { GpioStepper } from "./gpio_stepper.ts";
import { gpioMotorModel, gpioStepperModel } from "./motor_models.ts";
import { MotorPins } from "./motor_pins.ts";
import { PositionControl, StallWatch } from "./position_control.ts";

const LEFT = "rdk:component:motor/left";
const call = testCall();

/** A board that writes down what it is called with. */
function recorder() {
  const calls: string[] = [];
  const board: Record<string, unknown> = {
    setGPIO: (
      { pin, high }: { pin: string; high: boolean },
    ) => (calls.push(`${pin}=${high ? 1 : 0}`), {}),
    setPWM: (
      { pin, dutyCyclePct }: { pin: string; dutyCyclePct: number },
    ) => (calls.push(`${pin}~${dutyCyclePct}`), {}),
    setPWMFrequency: (
      { pin, frequencyHz }: { pin: string; frequencyHz: bigint },
    ) => (calls.push(`${pin}@${frequencyHz}`), {}),
  };
  const dependencies = new Map([["rdk:component:board/b", board as Resource]]);
  return {
    calls,
    board,
    dependencies,
    used: useDriver(BoardService, "rdk:component:board", "b", dependencies),
  };
}

function near(found: number, wanted: number, off: number) {
  assert.ok(Math.abs(found - wanted) <= off, `${found} is not ${wanted} ± ${off}`);
}

Deno.test("goFor(), goTo() and setRPM() control the position with an encoder", async () => {
  const parts = await roverParts();
  const motor = parts.get<GpioMotor>(LEFT);
  await motor.goFor({ rpm: 150, revolutions: 1.5 }, call);
  near((await motor.getPosition({}, call)).position, 1.5, 0.06);
  assert.equal(motor.isPowered().isOn, false);
  await motor.goFor({ rpm: -150, revolutions: 0.5 }, call);
  near((await motor.getPosition({}, call)).position, 1, 0.06);
  await motor.goTo({ rpm: 150, positionRevolutions: 0.25 }, call);
  near((await motor.getPosition({}, call)).position, 0.25, 0.06);
  await motor.resetZeroPosition({ offset: 0 }, call);
  near((await motor.getPosition({}, call)).position, 0, 0.01);
  await motor.setRPM({ rpm: -100 });
  await waitFor(async () => (await motor.getPosition({}, call)).position < -0.5, {
    deadlineMs: 60_000,
  });
  await motor.stop();
  assert.deepEqual([motor.isPowered().powerPct, motor.isMoving().isMoving], [0, false]);
  const { control_loop } = await motor.getStatus(call) as { control_loop: { hz: number } };
  assert.equal(control_loop.hz, 100);
  await parts.close();
});

Deno.test("a motor whose encoder stops is stopped, and says so", async () => {
  const parts = await roverParts({ stall_timeout: "200ms" });
  const motor = parts.get<GpioMotor>(LEFT);
  const board = parts.get<Resource>("rdk:component:board/board");
  board.doCommand!({ jam: "left" }, call);
  await assert.rejects(motor.goFor({ rpm: 100, revolutions: 5 }, call), (error: ConnectError) => {
    assert.equal(error.code, Code.Aborted);
    assert.match(
      error.message,
      /stalled: its encoder did not move for 0.2 s at \d+ % power; see what/,
    );
    return true;
  });
  assert.equal(motor.isPowered().isOn, false);
  await motor.setPower({ powerPct: 0.5 });
  await waitFor(() => !motor.isPowered().isOn, { deadlineMs: 60_000 });
  assert.match(
    String((await motor.getStatus(call) as Record<string, unknown>)["error"]),
    /stalled/,
  );
  assert.match(motor.problem() ?? "", /stalled/);
  board.doCommand!({ jam: "left", on: false }, call);
  await motor.goFor({ rpm: 150, revolutions: 0.2 }, call);
  assert.equal(motor.problem(), undefined);
  await parts.close();
});

Deno.test("goFor() ends without error when stop() comes, and stops when its caller leaves", async () => {
  const parts = await roverParts();
  const motor = parts.get<GpioMotor>(LEFT);
  const going = motor.goFor({ rpm: 100, revolutions: 1_000 }, call);
  await waitFor(() => motor.isPowered().isOn, { deadlineMs: 60_000 });
  await motor.stop();
  await going;
  const caller = new AbortController();
  const left = motor.goFor({ rpm: 100, revolutions: 1_000 }, testCall(caller.signal));
  await waitFor(() => motor.isPowered().isOn, { deadlineMs: 60_000 });
  caller.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
  assert.equal(motor.isPowered().isOn, false);
  await motor.setPower({ powerPct: 1 });
  await motor.close();
  assert.equal(motor.isPowered().isOn, false);
  await parts.close();
});

Deno.test("a motor is stopped when its encoder answers no more", async () => {
  const { dependencies } = recorder();
  const clock = new FakeClock();
  let isSilent = false;
  const encoder = {
    getPosition: () => isSilent ? new Promise<never>(() => {}) : { value: 0 },
  } as unknown as Resource;
  const motor = await construct<GpioMotor, unknown>(gpioMotorModel(testEnvironment({ clock })), {
    ...{ board: "b", pins: { pwm: "P", dir: "D" }, encoder: "e" },
    ...{ ticks_per_rotation: 200, max_rpm: 200 },
  }, { dependencies: new Map([...dependencies, ["rdk:component:encoder/e", encoder]]) });
  const turning = assert.rejects(
    motor.goFor({ rpm: 100, revolutions: 5 }, call),
    /e has not answered for 3 s; nothing moves without what it measures/,
  );
  await clock.advance(200);
  assert.equal(motor.isPowered().isOn, true);
  isSilent = true;
  await clock.advance(4_000);
  await turning;
  assert.equal(motor.isPowered().isOn, false);
});

Deno.test("stop() counts, too, for a movement that still waits for the encoder or the board", async () => {
  const { dependencies, board } = recorder();
  let answer = Promise.withResolvers<void>();
  const encoder = {
    getPosition: () => answer.promise.then(() => ({ value: 0 })),
  } as unknown as Resource;
  const parts = new Map([...dependencies, ["rdk:component:encoder/e", encoder]]);
  const environment = testEnvironment();
  const motor = await construct<GpioMotor, unknown>(gpioMotorModel(environment), {
    ...{ board: "b", pins: { pwm: "P", dir: "D" }, encoder: "e" },
    ...{ ticks_per_rotation: 200, max_rpm: 200 },
  }, { dependencies: parts });
  for (
    const move of [
      () => motor.setRPM({ rpm: 100 }),
      () => motor.goFor({ rpm: 100, revolutions: 5 }, call),
      () => motor.goTo({ rpm: 100, positionRevolutions: 5 }, call),
    ]
  ) {
    answer = Promise.withResolvers();
    const moving = move();
    await motor.stop();
    answer.resolve();
    await moving;
    assert.deepEqual([motor.isMoving().isMoving, motor.isPowered().isOn], [false, false]);
  }
  const stepper = await construct<GpioStepper, unknown>(gpioStepperModel(environment), {
    ...{ board: "b", pins: { step: "S", dir: "D", en_low: "E" }, ticks_per_rotation: 20 },
  }, { dependencies });
  let isOn: boolean | undefined;
  board["setGPIO"] = async ({ pin, high }: { pin: string; high: boolean }) => {
    if (pin === "E") isOn = !high;
    await answer.promise;
  };
  for (
    const move of [
      () => stepper.setRPM({ rpm: 100 }),
      () => stepper.setPower({ powerPct: 1 }),
      () => stepper.goFor({ rpm: 100, revolutions: 5 }, call),
    ]
  ) {
    answer = Promise.withResolvers();
    const moving = move();
    const stopping = stepper.stop();
    answer.resolve();
    await Promise.all([moving, stopping]);
    assert.deepEqual([stepper.isMoving().isMoving, isOn], [false, false]);
  }
});

Deno.test("goFor() counts time without an encoder", async () => {
  const clock = new FakeClock();
  const { dependencies } = recorder();
  const motor = await construct<GpioMotor, unknown>(gpioMotorModel(testEnvironment({ clock })), {
    board: "b",
    pins: { a: "A", b: "B" },
    max_rpm: 60,
  }, { dependencies });
  const going = motor.goFor({ rpm: 30, revolutions: -2 }, call);
  await waitFor(() => motor.isPowered().powerPct === -0.5, { deadlineMs: 60_000 });
  await clock.advance(3_999);
  assert.equal(motor.isPowered().isOn, true);
  await clock.advance(1);
  await going;
  assert.equal(motor.isPowered().isOn, false);
  await assert.rejects(motor.getPosition({}, call), /has no encoder/);
  await assert.rejects(motor.goFor({ rpm: 0, revolutions: 1 }, call), /cannot move at 0 RPM/);
  await assert.rejects(motor.setPower({ powerPct: NaN }), /power_pct is NaN/);
});

Deno.test("MotorPins.set() takes power away before it turns the motor round", async () => {
  const { calls, used } = recorder();
  const attributes = {
    ...{ pins: { a: "A", b: "B", pwm: "P", en_low: "E" }, pwm_freq: 400, max_power_pct: 0.9 },
  } as unknown as ConstructorParameters<typeof MotorPins>[1];
  const pins = new MotorPins(used, attributes);
  await pins.begin();
  assert.deepEqual(calls.splice(0), ["P@400", "A=0", "B=0", "P~0", "E=1"]);
  await pins.set(0.5);
  assert.deepEqual(calls.splice(0), ["P~0", "A=1", "B=0", "P~0.5", "E=0"]);
  await pins.set(-1);
  assert.deepEqual(calls.splice(0), ["P~0", "A=0", "B=1", "P~0.9", "E=0"]);
  await Promise.all([pins.set(0.3), pins.set(0)]);
  assert.deepEqual(calls.splice(0), ["A=0", "B=0", "P~0", "E=1"]);
});

Deno.test("gpioMotorModel() refuses pins that do not fit one another", async () => {
  const model = gpioMotorModel(testEnvironment());
  const problem = (pins: Record<string, string>, more = {}) => {
    const { attributes } = model.attributes.parse({ board: "b", pins, ...more });
    return () => model.dependencies!(attributes);
  };
  assert.throws(problem({ a: "1" }), /pins: found a, allowed: dir and pwm; a and b/);
  assert.throws(
    problem({ dir: "1", pwm: "2" }),
    /max_rpm: found nothing, allowed: a number, without/,
  );
  assert.throws(
    problem({ dir: "1", pwm: "2" }, { encoder: "e" }),
    /ticks_per_rotation: found nothing/,
  );
  await Promise.resolve();
});

Deno.test("PositionControl ramps up and down and ends at the target", () => {
  const control = new PositionControl(
    { rpm: 60, target: 1 },
    { maxRpm: 60, parameters: { p: 0, i: 0, d: 0 }, rampRate: 0.1 },
    0,
  );
  const powers: number[] = [];
  let position = 0;
  while (!control.arrived) {
    const power = control.step(position, 0.01);
    position += power * 0.01;
    powers.push(power);
    assert.ok(powers.length < 1_000, "it never arrives");
  }
  assert.ok(powers[0]! < 0.05 && Math.max(...powers) <= 1, `${powers[0]}`);
  assert.ok(powers.at(-2)! < 0.3, `${powers.at(-2)}`);
  near(position, 1, 0.01);
});

Deno.test("StallWatch tells a motor that turns the other way from one that stands", () => {
  const watch = new StallWatch(500, 0.01);
  assert.equal(watch.check(0, 0, 0.5, 60), undefined);
  assert.equal(watch.check(400, 0.02, 0.5, 60), undefined);
  assert.equal(watch.check(800, -1, 0.5, 60), undefined);
  assert.match(watch.check(900, -1, 0.5, 60)!, /the other way.*swap the encoder's lines/);
  // One tick a second: half a second without one is no stall.
  const slow = new StallWatch(500, 0.01);
  slow.check(0, 0, 0.1, 0.6);
  assert.equal(slow.check(2_900, 0, 0.1, 0.6), undefined);
  assert.match(slow.check(3_000, 0, 0.1, 0.6)!, /stalled/);
});

Deno.test("gpiostepper turns by steps and knows where it is", async () => {
  const { calls, dependencies } = recorder();
  const model = gpioStepperModel(testEnvironment());
  const motor = await construct<GpioStepper, unknown>(model, {
    board: "b",
    pins: { step: "S", dir: "D", en_low: "E" },
    ticks_per_rotation: 20,
  }, { dependencies });
  assert.deepEqual(calls.splice(0), ["S=0", "E=1"]);
  await motor.goFor({ rpm: 1_500, revolutions: 0.1 }, call);
  assert.deepEqual(calls.splice(0), ["D=1", "E=0", "S=1", "S=0", "S=1", "S=0", "E=1"]);
  await motor.goTo({ rpm: 1_500, positionRevolutions: -0.05 }, call);
  assert.equal(calls[0], "D=0");
  assert.equal(motor.getPosition().position, -0.05);
  await assert.rejects(motor.setRPM({ rpm: 1_600 }), /at most 1500.00 RPM/);
  await motor.setPower({ powerPct: 0.5 });
  await waitFor(() => motor.getPosition().position > 0.2, { deadlineMs: 60_000 });
  await motor.stop();
  assert.equal(motor.isMoving().isMoving, false);
  assert.equal(calls.at(-1), "E=1");
});

Deno.test("gpiostepper says why it was stopped, until it is moved again", async () => {
  let isBroken = false;
  const setGPIO = ({ pin, high }: { pin: string; high: boolean }) => {
    if (isBroken && pin === "S" && high) throw new Error("line 5 is gone");
    return {};
  };
  const dependencies = new Map([["rdk:component:board/b", { setGPIO } as Resource]]);
  const motor = await construct<GpioStepper, unknown>(gpioStepperModel(testEnvironment()), {
    board: "b",
    pins: { step: "S", dir: "D" },
    ticks_per_rotation: 20,
  }, { dependencies });
  assert.equal(motor.problem(), undefined);
  isBroken = true;
  await assert.rejects(motor.goFor({ rpm: 1_500, revolutions: 0.1 }, call), /line 5 is gone/);
  assert.match(motor.problem() ?? "", /line 5 is gone/);
  isBroken = false;
  await motor.goFor({ rpm: 1_500, revolutions: 0.1 }, call);
  assert.equal(motor.problem(), undefined);
  isBroken = true;
  await motor.setPower({ powerPct: 0.5 });
  await waitFor(() => motor.problem() !== undefined, { deadlineMs: 60_000 });
  await motor.close();
});

Deno.test("gpiostepper says that it cannot be switched off, until it is", async () => {
  let isBroken = false;
  const setGPIO = ({ pin }: { pin: string }) => {
    if (isBroken && pin === "E") throw new Error("line 6 is gone");
    return {};
  };
  const dependencies = new Map([["rdk:component:board/b", { setGPIO } as Resource]]);
  const motor = await construct<GpioStepper, unknown>(gpioStepperModel(testEnvironment()), {
    board: "b",
    pins: { step: "S", dir: "D", en_low: "E" },
    ticks_per_rotation: 20,
  }, { dependencies });
  for (const halt of [() => motor.stop(), () => motor.setPower({ powerPct: 0 })]) {
    isBroken = true;
    await assert.rejects(halt(), /line 6 is gone/);
    assert.match(motor.problem() ?? "", /line 6 is gone/);
    isBroken = false;
    await halt();
    assert.equal(motor.problem(), undefined);
  }
  await motor.close();
});
