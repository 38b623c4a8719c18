import assert from "node:assert/strict";
import { memoryLogger } from "../log/memory_logger_testing.ts";
import { FakeClock } from "../base/time/fake_clock.ts";
import { runWorkers } from "./run_workers.ts";
import { spread } from "./spread.ts";
import { WorkerHealth } from "./worker_health.ts";
import { anyChange, Watched } from "./watched.ts";

Deno.test("Watched wakes all who wait and ends a wait with the signal", async () => {
  const value = new Watched(1);
  const stop = new AbortController();
  const seen = [value.until((it) => it > 1, stop.signal), value.until((it) => it > 2, stop.signal)];
  value.value = 2;
  assert.equal(await seen[0], 2);
  value.value = 3;
  assert.equal(await seen[1], 3);
  const never = value.changed(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(never, /enough/);
  await assert.rejects(value.changed(stop.signal), /enough/);
});

Deno.test("anyChange() ends with the first change, the time, or the signal", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const one = new Watched(1);
  const two = new Watched(2);
  const changed = anyChange([one, two], stop.signal);
  two.value = 3;
  await changed;
  const timed = anyChange([one], stop.signal, { clock, ms: 10 });
  await clock.advance(10);
  await timed;
  assert.equal(clock.pendingTimers, 0);
  const stopped = anyChange([one], stop.signal, { clock, ms: 10 });
  stop.abort(new Error("enough"));
  await assert.rejects(stopped, /enough/);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("runWorkers() starts a failed worker again and leaves the others alone", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const stop = new AbortController();
  let failing = 0;
  let steady = 0;
  const running = runWorkers([
    {
      name: "failing",
      run: () => {
        failing++;
        return Promise.reject(new Error("boom"));
      },
    },
    {
      name: "steady",
      run: async (signal) => {
        steady++;
        await clock.sleep(1e9, signal);
      },
    },
  ], { signal: stop.signal, clock, log });
  await clock.advance(10_000);
  assert(failing >= 3, `${failing} starts`);
  assert.equal(steady, 1);
  assert.match(log.messages("error")[0] ?? "", /the failing worker failed and is restarted/);
  stop.abort();
  await running;
});

Deno.test("WorkerHealth names a worker while it fails, and for how long", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const health = new WorkerHealth(clock);
  let isBroken = true;
  const running = runWorkers([
    {
      name: "shaky",
      run: async (signal) => {
        if (isBroken) throw new Error("boom");
        await clock.sleep(1e9, signal);
      },
    },
    { name: "steady", run: (signal) => clock.sleep(1e9, signal) },
  ], { signal: stop.signal, clock, log: memoryLogger(), health });
  await clock.advance(10 * 60_000);
  const [failing, ...others] = health.failing();
  assert.deepEqual([failing?.name, failing?.reason, others], [
    "shaky",
    "the shaky worker fails: boom",
    [],
  ]);
  assert.equal(failing?.forMs, 10 * 60_000, "from the first failure on");
  isBroken = false;
  await clock.advance(3 * 60_000);
  assert.deepEqual(health.failing(), [], "a minute of work is enough");
  stop.abort();
  await running;
});

Deno.test("WorkerHealth counts from the first failure after a time of work", async () => {
  const clock = new FakeClock();
  const health = new WorkerHealth(clock);
  const failsAfter = async (ms: number) => {
    health.started("shaky");
    await clock.advance(ms);
    health.failed("shaky", "boom");
  };
  await failsAfter(0);
  await clock.advance(1_000);
  await failsAfter(10 * 60_000);
  await clock.advance(2_000);
  await failsAfter(0);
  assert.deepEqual(health.failing().map(({ forMs }) => forMs), [2_000]);
});

Deno.test("WorkerHealth names a worker that moved and stands still", async () => {
  const clock = new FakeClock();
  const health = new WorkerHealth(clock);
  health.started("silent");
  health.started("poll");
  health.beat("poll");
  await clock.advance(5 * 60_000);
  assert.deepEqual(health.failing(), []);
  await clock.advance(1);
  assert.deepEqual(health.failing().map(({ reason }) => reason), [
    "the poll worker is stuck",
  ]);
  health.beat("poll");
  assert.deepEqual(health.failing(), []);
});

Deno.test("spread() stays within five percent", () => {
  assert.equal(spread(1_000, 0), 950);
  assert.equal(spread(1_000, 0.5), 1_000);
  assert(spread(1_000, 0.999) < 1_050);
});
