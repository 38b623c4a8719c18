import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct, testCall } from "../testing.ts";
import { FakeEncoder } from "./encoder.ts";
import { FakeMotor, fakeMotorModel } from "./motor.ts";

/** A motor that turns once a second at full power. */
function setUp() {
  const clock = new FakeClock();
  return { clock, motor: new FakeMotor(clock, { maxRpm: 60 }) };
}

Deno.test("goFor() ends where it was told to when the time for it is over", async () => {
  const { clock, motor } = setUp();
  const call = motor.goFor({ rpm: 30, revolutions: -4 }, testCall());
  await clock.advance(2_000);
  assert.deepEqual(motor.isPowered(), { isOn: true, powerPct: -0.5 });
  assert.equal(motor.getPosition().position, -1);
  await clock.advance(6_000);
  await call;
  assert.equal(motor.getPosition().position, -4);
  assert.equal(motor.isMoving().isMoving, false);
  await clock.advance(5_000);
  assert.equal(motor.getPosition().position, -4);
});

Deno.test("goFor() is no faster than max_rpm and refuses to stand still", async () => {
  const { clock, motor } = setUp();
  const call = motor.goFor({ rpm: 6_000, revolutions: 2 }, testCall());
  await clock.advance(1_000);
  assert.equal(motor.getPosition().position, 1);
  await clock.advance(1_000);
  await call;
  await assert.rejects(motor.goFor({ rpm: 0, revolutions: 1 }, testCall()), /cannot move at 0 RPM/);
});

Deno.test("the motor refuses what is no number and stays where it is", async () => {
  const { motor } = setUp();
  const refused = (field: string) => (error: unknown) =>
    error instanceof ConnectError && error.code === Code.InvalidArgument &&
    error.rawMessage.startsWith(`${field} is `);
  for (const bad of [NaN, Infinity, -Infinity]) {
    assert.throws(() => motor.setPower({ powerPct: bad }), refused("power_pct"));
    assert.throws(() => motor.resetZeroPosition({ offset: bad }), refused("offset"));
    const far = { rpm: 30, revolutions: bad, positionRevolutions: bad };
    await assert.rejects(motor.goFor(far, testCall()), refused("revolutions"));
    await assert.rejects(motor.goTo(far, testCall()), refused("position_revolutions"));
  }
  assert.deepEqual([motor.isMoving().isMoving, motor.getPosition().position], [false, 0]);
});

Deno.test("goFor() turns without end when there are no revolutions to count", async () => {
  const { clock, motor } = setUp();
  await motor.goFor({ rpm: 60, revolutions: 0 }, testCall());
  await clock.advance(90_000);
  assert.equal(motor.getPosition().position, 90);
  assert.equal(motor.isMoving().isMoving, true);
});

Deno.test("goTo() takes the way back when the position lies behind", async () => {
  const { clock, motor } = setUp();
  motor.resetZeroPosition({ offset: -3 });
  const call = motor.goTo({ rpm: 60, positionRevolutions: 1 }, testCall());
  await clock.advance(1_000);
  assert.equal(motor.getPosition().position, 2);
  await clock.advance(1_000);
  await call;
  assert.equal(motor.getPosition().position, 1);
});

Deno.test("stop() ends the call that moves, where the motor is", async () => {
  const { clock, motor } = setUp();
  const call = motor.goFor({ rpm: 60, revolutions: 10 }, testCall());
  await clock.advance(2_500);
  motor.stop();
  await call;
  await clock.advance(5_000);
  assert.equal(motor.getPosition().position, 2.5);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("goFor() leaves the motor to a newer command", async () => {
  const { clock, motor } = setUp();
  const call = motor.goFor({ rpm: 60, revolutions: 1 }, testCall());
  await clock.advance(500);
  motor.setPower({ powerPct: 0.25 });
  await call;
  assert.deepEqual(motor.isPowered(), { isOn: true, powerPct: 0.25 });
});

Deno.test("goFor() stops the motor and fails when its caller goes away", async () => {
  const { clock, motor } = setUp();
  const caller = new AbortController();
  const call = motor.goFor({ rpm: 60, revolutions: 10 }, testCall(caller.signal));
  const failure = assert.rejects(call, /gone/);
  await clock.advance(1_000);
  caller.abort(new Error("gone"));
  await failure;
  assert.equal(motor.isMoving().isMoving, false);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("the model turns its encoder as fast as the motor", async () => {
  const clock = new FakeClock();
  const encoder = new FakeEncoder(clock, 100, 0);
  const motor = await construct<FakeMotor, unknown>(
    fakeMotorModel({ clock }),
    { encoder: "e", ticks_per_rotation: 600 },
    { dependencies: new Map([["rdk:component:encoder/e", encoder]]) },
  );
  motor.setRPM({ rpm: 10 });
  await clock.advance(1_000);
  assert.equal(encoder.getPosition({}).value, 100);
  motor.stop();
  await clock.advance(1_000);
  assert.equal(encoder.getPosition({}).value, 100);
  encoder.close();
});

Deno.test("the model says what max_rpm may be when it is wrong", async () => {
  const clock = new FakeClock();
  await assert.rejects(
    construct(fakeMotorModel({ clock }), { max_rpm: "fast" }),
    /attributes\.max_rpm: found "fast", allowed: a number of at least 0\.001/,
  );
});

Deno.test("getProperties() reports a position only of a motor with an encoder", () => {
  const { clock, motor } = setUp();
  const encoder = new FakeEncoder(clock, 100, 0);
  const measured = new FakeMotor(clock, { maxRpm: 60, encoder });
  assert.equal(motor.getProperties().positionReporting, false);
  assert.equal(measured.getProperties().positionReporting, true);
});
