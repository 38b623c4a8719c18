import assert from "node:assert/strict";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { ExactTime } from "./exact_time.ts";
import { Ticker } from "./ticker.ts";

/** A clock whose timers fire late, as those of a busy system. */
class CoarseClock extends FakeClock {
  constructor(private readonly lateMs: number) {
    super();
  }
  override setTimer(ms: number, run: () => void) {
    return super.setTimer(ms + this.lateMs, run);
  }
}

Deno.test("Ticker does every fast tick, without drift, when timers are late", async () => {
  const clock = new CoarseClock(1.3);
  let ticks = 0;
  let pauses = 0;
  const ticker = new Ticker({
    clock,
    intervalMs: 1,
    tick: () => void ticks++,
    onPause: () => void pauses++,
  });
  await clock.advance(1_000);
  ticker.close();
  assert.ok(ticks >= 997 && ticks <= 1_000, `${ticks}`);
  assert.ok(pauses < 500, `${pauses}: those that are due together have one pause`);
  assert.deepEqual(ticker.counts, { done: ticks, overlapped: 0, late: 0 });
});

Deno.test("Ticker keeps its times when ticks take time, and lets none overlap", async () => {
  const clock = new FakeClock();
  const at: number[] = [];
  const ticker = new Ticker({
    clock,
    intervalMs: 100,
    tick: async () => {
      at.push(clock.monotonicMs());
      await clock.sleep(at.length === 2 ? 230 : 40);
    },
    onPause: () => {},
  });
  await clock.advance(690);
  ticker.close();
  assert.deepEqual(at, [100, 200, 500, 600]);
  assert.deepEqual(ticker.counts, { done: 4, overlapped: 2, late: 0 });
});

Deno.test("Ticker does one tick and counts the others as late when the program was held up", async () => {
  const clock = new CoarseClock(350);
  let ticks = 0;
  const ticker = new Ticker({
    clock,
    intervalMs: 100,
    tick: () => void ticks++,
    onPause: () => {},
  });
  await clock.advance(450);
  ticker.close();
  assert.equal(ticks, 1);
  assert.deepEqual(ticker.counts, { done: 1, overlapped: 0, late: 3 });
});

Deno.test("Ticker follows up fast ticks that an answer held up for a moment", async () => {
  const clock = new FakeClock();
  let ticks = 0;
  const ticker = new Ticker({
    clock,
    intervalMs: 2,
    tick: () => ++ticks === 10 ? clock.sleep(50) : undefined,
    onPause: () => {},
  });
  await clock.advance(200);
  ticker.close();
  assert.deepEqual(ticker.counts, { done: 100, overlapped: 0, late: 0 });
});

Deno.test("ExactTime goes on by fractions and follows a clock that was set", () => {
  let monotonicMs = 0.25;
  let wallMs = 1_000;
  const clock = new FakeClock();
  clock.monotonicMs = () => monotonicMs;
  clock.now = () => new Date(wallMs);
  const time = new ExactTime(clock);
  const first = time.nowMs();
  monotonicMs += 0.5;
  assert.equal(time.nowMs(), first + 0.5);
  wallMs += 3_600_000;
  assert.equal(Math.floor(time.nowMs()), 3_601_000);
  wallMs -= 7_200_000;
  assert.equal(Math.floor(time.nowMs()), 1_000 - 3_600_000);
});
