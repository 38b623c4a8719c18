import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { toLogLines } from "./log_line.ts";
import { keepLogsForRetention, LOG_RETENTION_DAYS } from "./log_retention.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { takeOverEarlierLogs } from "./earlier_logs.ts";
import type { LogPosition, LogStore } from "./log_store.ts";
import { openLogStore } from "./open_log_store.ts";
import { SqliteLogStore } from "./sqlite_log_store.ts";

const DAY_MS = 24 * 60 * 60_000;
const DEADLINE = { deadlineMs: 60_000 };
const ignore = ignoreWithout(import.meta.url, "postgresql");

/** Time that can be set, timers that run as they do. */
class SetClock extends FakeClock {
  override sleep = systemClock.sleep;
  override setTimer = systemClock.setTimer;
}

type Case = (store: LogStore, clock: SetClock) => Promise<void>;

/** What every store does. */
const CASES: Record<string, Case> = {};

async function withSqlite(run: Case) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-logs-" });
  const clock = new SetClock();
  const store = SqliteLogStore.open(folder, clock);
  try {
    await run(store, clock);
  } finally {
    store.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Stores of one database, as several nodes have them. */
class Stores implements AsyncDisposable {
  private constructor(
    private readonly server: PostgresServer,
    private readonly database: PostgresDatabase,
  ) {}

  static async start(): Promise<Stores> {
    const server = await PostgresServer.start();
    const address = parsePostgresAddress(server.address("pool=4"), "/data");
    return new Stores(server, await PostgresDatabase.open(address));
  }

  query(sql: string): Promise<string> {
    return this.server.query(sql);
  }

  open(clock: SetClock): LogStore {
    return openLogStore(this.database, "/nowhere", clock);
  }

  /** The only one, without a line. */
  async openEmpty(clock: SetClock): Promise<LogStore> {
    const tables = ["lines", "usage", "sources"].map((name) => `machine_cloud.log_${name}`);
    await this.server.query(`truncate ${tables.join(", ")}`);
    return this.open(clock);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
    await this.server[Symbol.asyncDispose]();
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

CASES["LogStore.deleteReceivedBefore() deletes old lines, whatever their own time"] = async (
  store,
  clock,
) => {
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
};

CASES["LogStore.deleteReceivedBefore() passes over lines of a clock that was ahead"] = async (
  store,
  clock,
) => {
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
};

CASES["LogStore.append() gives back only lines that were not there"] = async (store, clock) => {
  const three = lines(3, "line", clock.now());
  assert.equal((await store.append("a", three.slice(0, 2))).length, 2);
  assert.deepEqual(await store.append("a", three), [three[2]]);
  assert.equal((await store.append("b", three)).length, 3);
};

CASES["LogStore.read() finds a rare line far back and lets other work in between"] = async (
  store,
  clock,
) => {
  await store.append("a", lines(1, "needle", clock.now()));
  await clock.advance(1);
  await store.append("a", lines(20_000, "hay", clock.now()));
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  const page = await store.read("a", { filter: { text: "NEEDLE" }, limit: 5 });
  clearInterval(ticking);

  assert.deepEqual(page.lines.map(({ message }) => message), ["needle 0"]);
  assert.equal(page.next, undefined);
  assert.ok(turns > 1, `${turns} turns`);
  const none = await store.read("unknown part", { filter: {}, limit: 5 });
  assert.deepEqual(none.lines, []);
};

CASES["LogStore.read() ends a page that searches for long, and the next one goes on there"] =
  async (store, clock) => {
    await store.append("a", lines(1, "needle", clock.now()));
    await clock.advance(1);
    await store.append("a", lines(20_000, "hay", clock.now()));
    // Time passes between slices.
    clock.sleep = () => clock.advance(300);
    const found: string[] = [];
    let pages = 0;
    let after: LogPosition | undefined;
    do {
      const page = await store.read("a", { filter: { text: "Needle" }, limit: 5, after });
      found.push(...page.lines.map(({ message }) => message));
      after = page.next;
      pages++;
    } while (after);
    assert.deepEqual(found, ["needle 0"]);
    assert.ok(pages > 1, "one page looked at all lines");
  };

CASES["LogStore.read() says the same of letters that the database knows no case of"] = async (
  store,
  clock,
) => {
  await store.append("a", lines(1, "ÜBERHITZT", clock.now()));
  const { lines: found } = await store.read("a", { filter: { text: "überhitzt" }, limit: 5 });
  assert.equal(found.length, 1);
};

CASES["LogStore.find() gives back lines by their keys, in the order in which they came"] = async (
  store,
  clock,
) => {
  const five = lines(5, "line", clock.now());
  await store.append("a", five);
  await store.append("b", five.slice(0, 1));
  const found = await store.find("a", [five[3]!, five[1]!, { timeNs: 0n, digest: 1 }]);
  assert.deepEqual(found.map(({ message }) => message), ["line 1", "line 3"]);
  assert.deepEqual(await store.find("unknown part", five), []);
};

CASES["LogStore.keepWithin() deletes the oldest lines of a part until it is within its size"] =
  async (store, clock) => {
    const text = "x".repeat(1_000);
    for (let n = 0; n < 5; n++) {
      await clock.advance(DAY_MS / 2);
      await store.append("a", lines(500, `${n} ${text}`, clock.now()));
    }
    await store.append("b", lines(10, text, clock.now()));
    const all = await store.bytesOf("a");
    const deleted = await store.keepWithin("a", all / 2);
    assert.ok(deleted >= 1_250 && deleted < 1_700, `${deleted} lines`);
    const kept = await store.bytesOf("a");
    assert.ok(kept <= all / 2 && kept > all / 4, `${kept} of ${all} bytes`);
    const { lines: left } = await store.read("a", { filter: {}, limit: 3_000 });
    assert.equal(left.length, 2_500 - deleted);
    assert.match(left[0]!.message, /^4 /);
    assert.equal((await store.read("b", { filter: {}, limit: 30 })).lines.length, 10);
    await clock.advance(DAY_MS);
    await store.deleteReceivedBefore(clock.now());
    assert.equal(await store.bytesOf("a"), 0);
  };

for (const [name, run] of Object.entries(CASES)) Deno.test(name, () => withSqlite(run));

Deno.test({
  name: "LogStore on PostgreSQL does the same",
  ignore,
  async fn(context) {
    await using stores = await Stores.start();
    for (const [name, run] of Object.entries(CASES)) {
      await context.step(name, async () => {
        const clock = new SetClock();
        await run(await stores.openEmpty(clock), clock);
      });
    }
    await context.step("two nodes keep a line once, also when it comes the next day", async () => {
      const clock = new SetClock();
      const one = await stores.openEmpty(clock);
      const other = stores.open(clock);
      const batch = lines(300, "line", clock.now());
      const added = await Promise.all(
        [one, other, one, other].map((store) => store.append("a", batch)),
      );
      assert.equal(added.reduce((sum, each) => sum + each.length, 0), 300);
      await clock.advance(DAY_MS);
      assert.deepEqual(await other.append("a", batch), []);
      assert.equal((await one.read("a", { filter: {}, limit: 1_000 })).lines.length, 300);
      const size = await one.bytesOf("a");
      assert.ok(size > 300 * 256 && size < 300 * 300, `${size} bytes`);
      // A node that knows a day whose table another one has dropped makes it again.
      assert.equal(await other.deleteReceivedBefore(new Date(clock.now().getTime())), 300);
      assert.equal(
        (await one.append("a", batch, new Date(clock.now().getTime() - DAY_MS))).length,
        300,
      );
    });
    await context.step("an index of days that are over finds the same", async () => {
      const clock = new SetClock();
      const store = await stores.openEmpty(clock);
      const words = ["Needle", "100%", "a_b", "back\\slash", "ünï", "motor", "it's", "[1, 2]"];
      let seed = 7;
      const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
      const word = () => words[Math.floor(random() * words.length)] ?? "";
      for (let day = 0; day < 4; day++) {
        const batch = Array.from({ length: 250 }, (_, n) => ({
          ...lines(1, `${day} ${n} ${word()} ${word()}`, clock.now())[0]!,
          logger: `rdk.${word()}`,
          timeNs: BigInt(clock.now().getTime()) * 1_000_000n + BigInt(Math.floor(random() * 5e14)),
        }));
        await store.append("a", batch);
        await clock.advance(DAY_MS);
      }
      await store.append("a", lines(50, "today motor", clock.now()));
      const all = async (text: string, order: "newest-first" | "oldest-first", limit: number) => {
        const found: string[] = [];
        let after: LogPosition | undefined;
        for (;;) {
          const page = await store.read("a", { filter: { text }, limit, order, after });
          found.push(...page.lines.map(({ message, timeNs }) => `${timeNs} ${message}`));
          if (!page.next) return found;
          after = page.next;
        }
      };
      const ask = async () => {
        const answers = [];
        for (const text of [...words, "NEEDLE need", "nowhere", "eedl", "mo", "0%", "\\"]) {
          for (const order of ["newest-first", "oldest-first"] as const) {
            for (const limit of [60, 5_000]) answers.push(await all(text, order, limit));
          }
        }
        return answers;
      };
      const before = await ask();
      await stores.query("create extension pg_trgm with schema public");
      await store.deleteReceivedBefore(new Date(0));
      const made = "select count(*) from pg_indexes where indexname like 'log_lines_%_texts'";
      assert.ok(Number(await stores.query(made)) >= 4);
      assert.deepEqual(await ask(), before);
      await store.deleteReceivedBefore(clock.now());
      assert.equal(await stores.query(made), "0");
      await stores.query("drop extension pg_trgm");
    });
    await context.step(
      "nobody waits for an index that a node that is gone has begun",
      async () => {
        const clock = new SetClock();
        const store = await stores.openEmpty(clock);
        await store.deleteReceivedBefore(clock.now());
        await stores.query("create extension pg_trgm with schema public");
        await store.append("a", lines(3, "motor", clock.now()));
        const table = `machine_cloud.log_lines_${Math.floor(clock.now().getTime() / DAY_MS)}`;
        await clock.advance(DAY_MS);
        // Whoever writes to the day keeps the index from being made.
        const writing = stores.query(
          `begin; lock table ${table} in row exclusive mode; select pg_sleep(600)`,
        ).catch(() => undefined);
        const locks = `select count(*) from pg_locks where relation = '${table}'::regclass
        and mode = 'RowExclusiveLock' and granted`;
        await waitFor(async () => await stores.query(locks) === "1", DEADLINE);
        const making = stores.query(
          `create index concurrently ${table.replace(/^.*\./, "")}_texts on ${table}
         using gin (lower(message collate "C") public.gin_trgm_ops)`,
        );
        const indexes = (isValid: boolean) =>
          stores.query(`select count(*) from pg_index where indrelid = '${table}'::regclass
          and indexrelid = to_regclass('${table}_texts') and indisvalid = ${isValid}`);
        await waitFor(async () => await indexes(false) === "1", DEADLINE);
        try {
          await store.deleteReceivedBefore(new Date(0));
          const page = await store.read("a", { filter: { text: "motor" }, limit: 10 });
          assert.equal(page.lines.length, 3);
        } finally {
          await stores.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where query like 'begin; lock%'",
          );
          await Promise.all([writing, making]);
        }
        assert.equal(await indexes(true), "1");
        await stores.query("drop extension pg_trgm cascade");
      },
    );
    await context.step("a text with U+0000 is kept, with another character", async () => {
      const clock = new SetClock();
      const store = await stores.openEmpty(clock);
      await store.append("a", lines(1, "a\0b", clock.now()));
      const { lines: [line] } = await store.read("a", { filter: {}, limit: 1 });
      assert.equal(line?.message, "a\ufffdb 0");
    });
    await context.step("lines of logs.db are taken over once", async () => {
      const clock = new SetClock();
      const folder = await Deno.makeTempDir({ prefix: "machine-cloud-logs-" });
      try {
        const before = SqliteLogStore.open(folder, clock);
        await before.append("expired", lines(1, "line", clock.now()));
        await clock.advance(31 * DAY_MS);
        const batch = lines(2_500, "line", clock.now());
        await before.append("a", batch);
        await before.append("b", batch.slice(0, 10));
        before.close();
        const store = await stores.openEmpty(clock);
        await store.append("a", batch.slice(0, 100));
        const { signal } = new AbortController();
        const time = new SteadyTime(clock);
        await takeOverEarlierLogs(store, folder, time, memoryLogger(), signal);
        const countOf = async (part: string) =>
          (await store.read(part, { filter: {}, limit: 5_000 })).lines.length;
        assert.deepEqual(
          [await countOf("a"), await countOf("b"), await countOf("expired")],
          [2_500, 10, 0],
        );
        const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
        assert.ok(names.includes("logs.db.moved") && !names.includes("logs.db"), `${names}`);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  },
});

Deno.test("keepLogsForRetention() deletes what is older than 30 days", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-logs-" });
  const clock = new FakeClock();
  const store = SqliteLogStore.open(folder, clock);
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
