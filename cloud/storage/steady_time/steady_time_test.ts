import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { type Queries, SqliteDatabase } from "../database/cloud_database.ts";
import { SteadyTime } from "./steady_time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Date.parse("2026-03-04T12:00:00Z");

async function withQueries(test: (queries: Queries) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "steady-time-" });
  const database = SqliteDatabase.open(dir);
  try {
    await test(database.queries);
  } finally {
    database.close();
    await Deno.remove(dir, { recursive: true });
  }
}

/** A process of the cloud that starts when the host's clock shows that time. */
async function started(queries: Queries, wallMs: number) {
  const clock = new FakeClock(wallMs);
  const log = memoryLogger();
  const time = new SteadyTime(clock);
  await time.load(queries, log);
  const stopping = new AbortController();
  const running = time.run(queries, log, stopping.signal);
  const ms = {
    cautious: () => time.cautious.now().getTime(),
    strict: () => time.strict.now().getTime(),
  };
  return {
    ...{ clock, ...ms },
    events: () => log.entries.map(({ fields }) => fields["event"]),
    end: async () => {
      stopping.abort();
      await running;
    },
  };
}

Deno.test("SteadyTime shows the clock's time, corrected by less than a day too", () =>
  withQueries(async (queries) => {
    const it = await started(queries, NOON);
    it.clock.setNow(NOON + 20 * HOUR);
    assert.deepEqual([it.cautious(), it.strict()], [NOON + 20 * HOUR, NOON + 20 * HOUR]);
    await it.clock.advance(HOUR);
    it.clock.setNow(NOON);
    assert.deepEqual([it.cautious(), it.strict()], [NOON, NOON]);
    await it.end();
    assert.deepEqual(it.events(), []);
  }));

for (const [where, jumpMs] of [["ahead", 400 * DAY], ["back", -400 * DAY]] as const) {
  Deno.test(`SteadyTime moves on when the clock jumps ${where}, and believes it after a day`, () =>
    withQueries(async (queries) => {
      const it = await started(queries, NOON);
      it.clock.setNow(NOON + jumpMs);
      await it.clock.advance(23 * HOUR);
      const both = [NOON + 23 * HOUR, NOON + jumpMs + 23 * HOUR].sort((a, b) => a - b);
      assert.deepEqual([it.cautious(), it.strict()], both);
      assert.deepEqual(it.events(), ["clock_jumped"]);
      await it.clock.advance(2 * HOUR);
      const wallMs = NOON + jumpMs + 25 * HOUR;
      assert.deepEqual([it.cautious(), it.strict()], [wallMs, wallMs]);
      assert.deepEqual(it.events(), ["clock_jumped", "clock_settled"]);
      await it.end();
    }));
}

Deno.test("SteadyTime forgets a jump that was set right, and one that jumps again waits again", () =>
  withQueries(async (queries) => {
    const it = await started(queries, NOON);
    it.clock.setNow(NOON + 400 * DAY);
    await it.clock.advance(20 * HOUR);
    it.clock.setNow(NOON + 800 * DAY);
    await it.clock.advance(20 * HOUR);
    assert.equal(it.cautious(), NOON + 40 * HOUR);
    it.clock.setNow(NOON + 40 * HOUR);
    await it.clock.advance(HOUR);
    assert.deepEqual([it.cautious(), it.strict()], [NOON + 41 * HOUR, NOON + 41 * HOUR]);
    assert.deepEqual(it.events(), ["clock_jumped", "clock_jumped", "clock_settled"]);
    await it.end();
  }));

Deno.test("SteadyTime compares with the process before, and counts on where that was waiting", () =>
  withQueries(async (queries) => {
    await (await started(queries, NOON)).end();
    const later = NOON + 100 * DAY;
    const second = await started(queries, later);
    assert.deepEqual([second.cautious(), second.strict()], [NOON, later]);
    await second.clock.advance(20 * HOUR);
    await second.end();
    const third = await started(queries, later + 21 * HOUR);
    await third.clock.advance(3 * HOUR);
    assert.equal(third.cautious(), NOON + 23 * HOUR);
    await third.clock.advance(2 * HOUR);
    assert.equal(third.cautious(), later + 26 * HOUR);
    await third.end();
  }));
