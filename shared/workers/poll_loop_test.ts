import assert from "node:assert/strict";
import { Backoff } from "../base/time/backoff.ts";
import { FakeClock } from "../base/time/fake_clock.ts";
import { pollLoop, type PollLoopOptions } from "./poll_loop.ts";
import { Watched } from "./watched.ts";

/** What a turn does: an answer, or an error that it throws. */
type Outcome = number | "done" | undefined | Error;

/** A loop whose turns do one outcome after the other, and the times at which they began. */
function loopOf(outcomes: Outcome[], options: Partial<PollLoopOptions> = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const atMs: number[] = [];
  const turn = () => {
    atMs.push(clock.monotonicMs());
    const outcome = outcomes.shift();
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
  const running = pollLoop(turn, { clock, intervalMs: 100, ...options }, stop.signal);
  return { clock, stop, atMs, running };
}

Deno.test("pollLoop() turns at once and after each interval until it is aborted", async () => {
  const { clock, stop, atMs, running } = loopOf([]);
  await clock.advance(250);
  assert.deepEqual(atMs, [0, 100, 200]);
  stop.abort();
  assert.equal(await running, undefined);
  assert.equal(clock.pendingTimers, 0);
  await clock.advance(1_000);
  assert.equal(atMs.length, 3);
});

Deno.test("pollLoop() waits as long as a turn says, and ends when one is done", async () => {
  const { clock, atMs, running } = loopOf([30, 0, undefined, "done"], { firstMs: 7 });
  await clock.advance(500);
  assert.deepEqual(atMs, [7, 37, 37, 137]);
  assert.equal(await running, "done");
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("pollLoop() waits longer with each failure until a turn works", async () => {
  const failures: string[] = [];
  const { clock, stop, atMs, running } = loopOf(
    [new Error("1"), new Error("2"), undefined, new Error("3"), undefined],
    {
      backoff: new Backoff({ minMs: 10, maxMs: 1_000, jitter: false }),
      onFailure: (error) => void failures.push((error as Error).message),
    },
  );
  await clock.advance(145);
  assert.deepEqual(atMs, [0, 10, 30, 130, 140]);
  assert.deepEqual(failures, ["1", "2", "3"]);
  stop.abort();
  await running;
});

Deno.test("pollLoop() retries after the interval without a backoff", async () => {
  const { clock, stop, atMs, running } = loopOf([new Error("1")], { onFailure: () => {} });
  await clock.advance(150);
  assert.deepEqual(atMs, [0, 100]);
  stop.abort();
  await running;
});

Deno.test("pollLoop() rejects with what it does not take for a failure", async () => {
  const { running } = loopOf([new Error("boom")]);
  await assert.rejects(running, /boom/);
  const rethrowing = loopOf([new Error("bug")], {
    onFailure: (error) => {
      throw error;
    },
  });
  await assert.rejects(rethrowing.running, /bug/);
});

Deno.test("pollLoop() turns again at a change, also at one during a turn", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const news = new Watched(0);
  const atMs: number[] = [];
  const turn = async () => {
    atMs.push(clock.monotonicMs());
    if (atMs.length === 2) news.value++;
    await clock.sleep(5);
  };
  const options = { clock, intervalMs: 100, changes: [news] };
  const running = pollLoop(turn, options, stop.signal);
  await clock.advance(20);
  news.value++;
  await clock.advance(20);
  assert.deepEqual(atMs, [0, 20, 25]);
  assert.equal(clock.pendingTimers, 1);
  stop.abort();
  await running;
});

Deno.test("pollLoop() spreads its waits, and ends quietly when a turn is aborted", async () => {
  const { clock, stop, atMs, running } = loopOf([], { random: () => 0 });
  await clock.advance(191);
  assert.deepEqual(atMs, [0, 95, 190]);
  stop.abort();
  await running;

  const other = new AbortController();
  const asking = pollLoop(
    (signal) => clock.sleep(1_000, signal),
    { clock, intervalMs: 100 },
    other.signal,
  );
  other.abort(new Error("enough"));
  assert.equal(await asking, undefined);
});
