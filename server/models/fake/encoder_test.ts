import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct } from "../testing.ts";
import { type FakeEncoder, fakeEncoderModel } from "./encoder.ts";

Deno.test("getPosition() counts a portion in each interval, from zero after a reset", async () => {
  const clock = new FakeClock();
  const encoder = await construct<FakeEncoder, unknown>(fakeEncoderModel({ clock }), {
    ticks_per_update: 2,
  });
  await clock.advance(350);
  assert.deepEqual(encoder.getPosition({}), { value: 6, positionType: 1 });
  encoder.resetPosition();
  assert.equal(encoder.getPosition({}).value, 0);
  await clock.advance(100);
  assert.equal(encoder.getPosition({}).value, 2);
  encoder.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("getPosition() stays at zero when nothing turns the encoder", async () => {
  const clock = new FakeClock();
  const encoder = await construct<FakeEncoder, unknown>(fakeEncoderModel({ clock }));
  await clock.advance(10_000);
  assert.equal(encoder.getPosition({}).value, 0);
  encoder.close();
});

Deno.test("getPosition() fails when an angle is asked for", async () => {
  const clock = new FakeClock();
  const encoder = await construct<FakeEncoder, unknown>(fakeEncoderModel({ clock }));
  assert.throws(() => encoder.getPosition({ positionType: 2 }), /does not know an angle/);
  encoder.close();
});
