import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { toLogLines } from "./log_line.ts";
import { keepLogsForRetention, LOG_RETENTION_DAYS } from "./log_retention.ts";
import type { LogPosition } from "./log_search.ts";
import { LogStore } from "./log_store.ts";

const DAY_MS = 24 * 60 * 60_000;

/** Time that can be set, timers that run as they do. */
class SetClock extends FakeClock {
  override sleep = systemClock.sleep;
  override setTimer = systemClock.setTimer;
}

async function withStore(run: (store: LogStore, clock: SetClock) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-logs-" });
  const clock = new SetClock();
  const store = LogStore.open(folder, clock);
  try {
    await run(store, clock);
  } finally {
    store.close();
    await Deno.remove(folder, { recursive: true });
  }
}

function lines(count: number, text: string, now: Date) {
  return toLogLines(
    Array.from(
      { length: count },
      (_, n) => create(LogEntrySchema, { message: `${text} ${n}`, time: timestampFromDate(now) }),
    ),
    now,
  );
}

Deno.test("LogStore.deleteReceivedBefore() deletes old lines, whatever their own time", () =>
  withStore(async (store, clock) => {
    const future = new Date(clock.now().getTime() + 400 * DAY_MS);
    await store.append("a", lines(2_500, "old", future));
    await clock.advance(DAY_MS);
    await store.append("b", lines(10, "new", new Date(0)));

    const deleted = await store.deleteReceivedBefore(clock.now());
    const again = await store.deleteReceivedBefore(clock.now());
    const filter = {};

    assert.equal(deleted, 2_500);
    assert.equal(again, 0);
    assert.equal((await store.read("a", { filter, limit: 10 })).lines.length, 0);
    assert.equal((await store.read("b", { filter, limit: 100 })).lines.length, 10);
  }));

Deno.test("LogStore.deleteReceivedBefore() passes over lines of a clock that was ahead", () =>
  withStore(async (store, clock) => {
    const now = clock.now();
    const ahead = new Date(now.getTime() + DAY_MS);
    const received = async (part: string, count: number, ms: number) => {
      clock.setNow(ms);
      await store.append(part, lines(count, "line", new Date(ms)));
    };
    await received("a", 2_400, now.getTime() + 400 * DAY_MS);
    await received("b", 1_300, now.getTime() - DAY_MS);
    await received("b", 10, now.getTime() + 1);
    assert.equal(await store.deleteReceivedBefore(now, { ahead }), 1_300);
    const left = await store.read("b", { filter: {}, limit: 100 });
    assert.equal(left.lines.length, 10);
    assert.equal((await store.read("a", { filter: {}, limit: 3_000 })).lines.length, 2_400);
  }));

Deno.test("LogStore.append() gives back only lines that were not there", () =>
  withStore(async (store, clock) => {
    const three = lines(3, "line", clock.now());
    assert.equal((await store.append("a", three.slice(0, 2))).length, 2);
    assert.deepEqual(await store.append("a", three), [three[2]]);
    assert.equal((await store.append("b", three)).length, 3);
  }));

Deno.test("LogStore.read() finds a rare line far back and lets other work in between", () =>
  withStore(async (store, clock) => {
    await store.append("a", lines(1, "needle", clock.now()));
    await clock.advance(1);
    await store.append("a", lines(20_000, "hay", clock.now()));
    let turns = 0;
    const ticking = setInterval(() => turns++, 0);
    const page = await store.read("a", { filter: { text: "NEEDLE" }, limit: 5 });
    clearInterval(ticking);

    assert.deepEqual(page.lines.map(({ message }) => message), ["needle 0"]);
    assert.equal(page.next, undefined);
    assert.ok(turns > 3, `${turns} turns`);
    const none = await store.read("unknown part", { filter: {}, limit: 5 });
    assert.deepEqual(none.lines, []);
  }));

Deno.test("LogStore.read() ends a page that searches for long, and the next one goes on there", () =>
  withStore(async (store, clock) => {
    await store.append("a", lines(1, "needle", clock.now()));
    await clock.advance(1);
    await store.append("a", lines(20_000, "hay", clock.now()));
    const ticking = setInterval(() => void clock.advance(20), 0);
    const found: string[] = [];
    let pages = 0;
    let after: LogPosition | undefined;
    do {
      const page = await store.read("a", { filter: { text: "Needle" }, limit: 5, after });
      found.push(...page.lines.map(({ message }) => message));
      after = page.next;
      pages++;
    } while (after);
    clearInterval(ticking);
    assert.deepEqual(found, ["needle 0"]);
    assert.ok(pages > 1, "one page looked at all lines");
  }));

Deno.test("LogStore.read() says the same of letters that SQLite knows no case of", () =>
  withStore(async (store, clock) => {
    await store.append("a", lines(1, "ÜBERHITZT", clock.now()));
    const { lines: found } = await store.read("a", { filter: { text: "überhitzt" }, limit: 5 });
    assert.equal(found.length, 1);
  }));

Deno.test("keepLogsForRetention() deletes what is older than 30 days", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-logs-" });
  const clock = new FakeClock();
  const store = LogStore.open(folder, clock);
  const stop = new AbortController();
  try {
    await store.append("a", lines(3, "old", clock.now()));
    const keeping = keepLogsForRetention(store, new SteadyTime(clock), memoryLogger(), stop.signal);
    const left = async () => (await store.read("a", { filter: {}, limit: 10 })).lines.length;
    await clock.advance(60_000);
    assert.equal(await left(), 3);
    await clock.advance((LOG_RETENTION_DAYS - 1) * DAY_MS);
    assert.equal(await left(), 3);
    await clock.advance(DAY_MS + 10 * 60_000);
    assert.equal(await left(), 0);
    stop.abort();
    await keeping;
  } finally {
    store.close();
    await Deno.remove(folder, { recursive: true });
  }
});
