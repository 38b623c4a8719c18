import { Cron } from "croner";
import assert from "node:assert/strict";
import { parseSchedule } from "../../../shared/config/schedule.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { randomSource } from "../../../shared/test_tools/random_source.ts";
import { createRhythm, type Rhythm, type Turn } from "./rhythm.ts";

const never = new AbortController().signal;

/** Takes turns of `runMs` by the rhythm and keeps the wall times at which they start. */
async function follow(
  schedule: string,
  clock: FakeClock,
  { runMs = 0, failed = () => false }: { runMs?: number; failed?: (turn: number) => boolean } = {},
) {
  const starts: string[] = [];
  const controller = new AbortController();
  const rhythm: Rhythm = await createRhythm(parseSchedule(schedule), clock);
  const run = async () => {
    let last: Turn | undefined;
    while (!controller.signal.aborted) {
      await rhythm.next(last, controller.signal);
      const startedMs = clock.monotonicMs();
      starts.push(clock.now().toISOString().slice(11, 23));
      if (runMs > 0) await clock.sleep(runMs, controller.signal);
      last = { startedMs, failed: failed(starts.length) };
    }
  };
  const ended = run().catch((error) => assert.equal(error, "over"));
  return {
    starts,
    stop: () => {
      controller.abort("over");
      return ended;
    },
  };
}

Deno.test("createRhythm() starts an interval one interval after the other", async () => {
  const clock = new FakeClock("2026-01-02T00:00:00Z");
  const { starts, stop } = await follow("10s", clock, { runMs: 4_000 });
  await clock.advance(25_000);
  assert.deepEqual(starts, ["00:00:10.000", "00:00:20.000"]);
  await stop();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("createRhythm() starts an interval right after a run that took longer", async () => {
  const clock = new FakeClock("2026-01-02T00:00:00Z");
  const { starts, stop } = await follow("10s", clock, { runMs: 15_000 });
  await clock.advance(45_000);
  assert.deepEqual(starts, ["00:00:10.000", "00:00:25.010", "00:00:40.020"]);
  await stop();
});

Deno.test("createRhythm() pauses between continuous runs, longer after failures", async () => {
  const clock = new FakeClock("2026-01-02T00:00:00Z");
  const steady = await follow("continuous", clock);
  await clock.advance(1_000);
  assert.equal(steady.starts[0], "00:00:00.000");
  assert.equal(steady.starts.length, 101);
  await steady.stop();
  const failing = await follow("continuous", clock, { failed: () => true });
  await clock.advance(600_000);
  // Without jitter it were 9 in the first minute and 2 in each later one.
  assert(failing.starts.length > 10 && failing.starts.length < 300, `${failing.starts.length}`);
  await failing.stop();
});

Deno.test("createRhythm() follows the calendar when the schedule is cron", async () => {
  const table: [string, number, string[]][] = [
    ["*/5 * * * *", 600_000, ["03:05:00.000", "03:10:00.000"]],
    ["*/20 * * * * *", 60_000, ["03:04:20.000", "03:04:40.000", "03:05:00.000"]],
    ["TZ=Asia/Tokyo 30 12 * * *", 3_600_000, ["03:30:00.000"]],
    ["@hourly", 7_200_000, ["04:00:00.000", "05:00:00.000"]],
    ["0 5/30 * * * *", 3_600_000, ["03:05:00.000", "03:35:00.000"]],
  ];
  for (const [schedule, ms, expected] of table) {
    const clock = new FakeClock("2026-01-02T03:04:05Z");
    const { starts, stop } = await follow(schedule, clock);
    await clock.advance(ms);
    assert.deepEqual(starts, expected, schedule);
    await stop();
    assert.equal(clock.pendingTimers, 0);
  }
});

Deno.test("createRhythm() skips moments of the calendar that pass during a run", async () => {
  const clock = new FakeClock("2026-01-02T03:04:05Z");
  const { starts, stop } = await follow("* * * * *", clock, { runMs: 90_000 });
  await clock.advance(300_000);
  assert.deepEqual(starts, ["03:05:00.000", "03:07:00.000", "03:09:00.000"]);
  await stop();
});

Deno.test("createRhythm() goes by the new time when the wall clock is set", async () => {
  const clock = new FakeClock("1970-01-01T00:00:10Z");
  const { starts, stop } = await follow("0 3 * * *", clock);
  await clock.advance(1_000);
  clock.setNow("2026-01-02T02:50:00Z");
  await clock.advance(600_000);
  assert.deepEqual(starts, ["03:00:00.000"]);
  clock.setNow("2026-01-02T02:58:00Z");
  await clock.advance(300_000);
  assert.deepEqual(starts, ["03:00:00.000", "03:00:00.000"]);
  await stop();
});

Deno.test("createRhythm() skips a moment that the wall clock was set past", async () => {
  const clock = new FakeClock("2026-01-04T02:59:30Z");
  const { starts, stop } = await follow("0 3 * * *", clock);
  await clock.advance(10_000);
  clock.setNow("2026-01-04T04:00:00Z");
  await clock.advance(60_000);
  assert.deepEqual(starts, []);
  await stop();
});

Deno.test("createRhythm() makes no moment due twice when a timer fires early", async () => {
  const clock = new FakeClock("2026-01-02T03:04:59.990Z");
  const { starts, stop } = await follow("* * * * *", clock);
  clock.setNow("2026-01-02T03:04:59.985Z");
  await clock.advance(15);
  assert.deepEqual(starts, ["03:04:59.995"]);
  await clock.advance(1_000);
  assert.equal(starts.length, 1);
  await stop();
});

Deno.test("createRhythm() refuses a calendar without a next moment", async () => {
  await assert.rejects(
    createRhythm(parseSchedule("0 0 31 2 *"), new FakeClock()),
    /"0 0 31 2 \*" has no next moment/,
  );
});

Deno.test("next() ends with the signal's reason when aborted", async () => {
  for (const schedule of ["1h", "0 0 1 1 *"]) {
    const clock = new FakeClock();
    const rhythm = await createRhythm(parseSchedule(schedule), clock);
    const controller = new AbortController();
    const next = rhythm.next(undefined, controller.signal);
    await waitFor(() => clock.pendingTimers === 1, { deadlineMs: 60_000 });
    controller.abort("over");
    await assert.rejects(next, (reason) => reason === "over");
  }
  await createRhythm({ kind: "continuous" }, new FakeClock()).then((rhythm) =>
    rhythm.next(undefined, never)
  );
});

Deno.test("parseSchedule() takes no cron expression that the library refuses", () => {
  const random = randomSource(20260102).next;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const number = () => String(Math.floor(random() * 70));
  const name = () => pick(["MON", "sun", "Jan", "DEC", "XYZ"]);
  const value = () => random() < 0.85 ? number() : name();
  const entry = () => {
    const span = pick([
      () => "*",
      () => "?",
      value,
      value,
      () => `${value()}-${value()}`,
      () => `${number()}L`,
      () => `${number()}W`,
      () => `${number()}#${Math.floor(random() * 7)}`,
      () => "L",
      () => "LW",
    ])();
    return random() < 0.2 ? `${span}/${number()}` : span;
  };
  let good = 0;
  for (let turn = 0; turn < 20_000; turn++) {
    const fields = Array.from({ length: pick([5, 5, 6]) }, () => random() < 0.7 ? "*" : entry());
    const expression = fields.join(" ");
    const ours = succeeds(() => parseSchedule(expression));
    if (!ours) continue;
    good++;
    assert.doesNotThrow(
      () => new Cron(expression, { paused: true, sloppyRanges: true }),
      `taken by us only: ${expression}`,
    );
  }
  assert(good > 2_000, `only ${good} were schedules`);
});

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
