import assert from "node:assert/strict";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { TokenBucket } from "./token_bucket.ts";

const never = new AbortController().signal;

/** How long it takes until so many pieces were let through. */
async function spanOf(clock: FakeClock, bucket: TokenBucket, pieces: number[]): Promise<number> {
  const started = clock.monotonicMs();
  let ended = NaN;
  const work = (async () => {
    for (const bytes of pieces) await bucket.take(bytes, never);
    ended = clock.monotonicMs();
  })();
  for (let turn = 0; turn < 400 && Number.isNaN(ended); turn++) await clock.advance(250);
  await work;
  return ended - started;
}

Deno.test("take() keeps a rate over many pieces, whatever their size", async () => {
  for (const piece of [100, 1_000, 25_000]) {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, () => 1_000);
    const ms = await spanOf(clock, bucket, Array<number>(50_000 / piece).fill(piece));
    assert.ok(Math.abs(ms - 50_000) <= 750, `${piece} at a time: ${ms} ms`);
  }
});

Deno.test("take() saves up no more than half a second for later", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, () => 1_000);
  await clock.advance(3_600_000);
  const ms = await spanOf(clock, bucket, Array<number>(10).fill(1_000));
  assert.ok(Math.abs(ms - 9_500) <= 250, `${ms} ms`);
});

Deno.test("take() follows a limit that changes, also to none, within a second", async () => {
  const clock = new FakeClock();
  let rate = 1;
  const bucket = new TokenBucket(clock, () => rate);
  let taken = false;
  const taking = bucket.take(1_000_000, never).then(() => void (taken = true));
  await clock.advance(60_000);
  assert.equal(taken, false);
  rate = 0;
  await clock.advance(1_000);
  await taking;
  assert.equal(await spanOf(clock, bucket, [1e9, 1e9]), 0);
  rate = 1_000_000;
  const ms = await spanOf(clock, bucket, [1_000_000, 1_000_000]);
  assert.ok(ms >= 1_500 && ms <= 2_000, `${ms} ms`);
});

Deno.test("take() shares the rate among those who take at the same time", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, () => 1_000);
  const spans = await Promise.all([
    spanOf(clock, bucket, Array<number>(10).fill(500)),
    spanOf(clock, bucket, Array<number>(10).fill(500)),
  ]);
  assert.ok(Math.max(...spans) >= 9_000, spans.join());
});

Deno.test("take() ends with its signal", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, () => 1);
  const stop = new AbortController();
  const taking = assert.rejects(bucket.take(1_000, stop.signal), /enough/);
  await clock.advance(1_000);
  stop.abort(new Error("enough"));
  await taking;
  assert.equal(clock.pendingTimers, 0);
});
