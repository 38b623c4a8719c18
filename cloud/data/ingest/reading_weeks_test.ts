import assert from "node:assert/strict";
import { Client } from "pg";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import type { DirectStatements } from "../../storage/database/direct_statements.ts";
import { DAY_MS, THURSDAY, WEEK, WeeksRig } from "./reading_weeks_testing.ts";
import { makeWeek } from "../../storage/postgres/week_tables.ts";
import { rowsBefore } from "./reading_weeks.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
/** When the first week has expired after 30 days. */
const EXPIRED = THURSDAY + 37 * DAY_MS;

function hoursOf(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => from + at * 3_600_000);
}

function test(name: string, work: (rig: WeeksRig, server: PostgresServer) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using server = await PostgresServer.start();
      await using rig = await WeeksRig.open(server.address());
      await work(rig, server);
    },
  });
}

Deno.test("rowsBefore() lets rows wait for their week, where that is short beside the retention", () => {
  const before = new Date(THURSDAY);
  assert.deepEqual(rowsBefore(before, 29), before);
  assert.deepEqual(rowsBefore(before, 30), new Date(THURSDAY - 8 * DAY_MS));
});

test("makeAhead() makes three weeks, with what was taken in before", async (rig) => {
  await rig.organization("acme", 1, null);
  assert.deepEqual(await rig.tables(), {
    ...{ [WEEK]: 0, [WEEK + 1]: 0, [WEEK + 2]: 0, other: 0 },
  });
  // Of clocks that are wrong, and of a week that nobody has made.
  await rig.upload("acme", 1, [1_000, THURSDAY, THURSDAY + 30 * DAY_MS, Date.UTC(2100, 0, 1)]);
  assert.equal((await rig.tables())["other"], 3);
  rig.clock.setNow(THURSDAY + 15 * DAY_MS);
  await Promise.all([rig.weeks().makeAhead(), rig.weeks().makeAhead()]);
  assert.deepEqual(await rig.tables(), {
    ...{ [WEEK]: 1, [WEEK + 1]: 0, [WEEK + 2]: 0, [WEEK + 3]: 0, [WEEK + 4]: 1, other: 2 },
  });
  assert.deepEqual(await rig.readings("acme"), [4, 4, 4]);
});

test("makeAhead() makes weeks that nobody made in time, where there is much of them", async (rig) => {
  await rig.organization("acme", 1, null);
  const many = Array.from({ length: 20_001 }, (_, at) => THURSDAY - 9 * DAY_MS + at);
  await rig.upload("acme", 1, many);
  await rig.upload("acme", 1, many.slice(0, 10).map((time) => time - 30 * DAY_MS));
  rig.clock.setNow(THURSDAY + 7 * DAY_MS);
  await rig.weeks().makeAhead();
  assert.deepEqual(await rig.tables(), {
    ...{ [WEEK - 2]: 20_001, [WEEK]: 0, [WEEK + 1]: 0, [WEEK + 2]: 0, [WEEK + 3]: 0, other: 10 },
  });
});

test("who reads while a week is made sees all readings", async (rig, server) => {
  await rig.organization("acme", 1, null);
  await rig.upload("acme", 1, hoursOf(THURSDAY + 30 * DAY_MS, 10));
  const maker = new Client({ connectionString: server.address() });
  await maker.connect();
  try {
    await maker.query("begin; set search_path = machine_cloud");
    await maker.query(makeWeek(WEEK + 4));
    const reading = rig.readings("acme");
    const waiting = "select count(*) from pg_locks where not granted";
    await waitFor(async () => await server.query(waiting) !== "0", { deadlineMs: 60_000 });
    await maker.query("commit");
    assert.deepEqual(await reading, [10, 10, 10]);
    assert.equal((await rig.tables())[WEEK + 4], 10);
  } finally {
    await maker.end();
  }
});

test("dropExpired() drops a week when all of its readings have expired", async (rig) => {
  await rig.organization("acme", 1, 30);
  await rig.organization("beta", 2, 35);
  await rig.hours("acme", 1, 200);
  await rig.hours("beta", 2, 50);
  const many = Array.from({ length: 20_001 }, (_, at) => THURSDAY + at);
  await rig.upload("beta", 2, many, THURSDAY + 7 * DAY_MS);
  rig.clock.setNow(EXPIRED + 4 * DAY_MS);
  const weeks = rig.weeks();
  assert.equal(await weeks.dropExpired(), 0);
  assert.deepEqual(await rig.readings("beta"), [20_051, 20_051, 20_051]);

  rig.clock.setNow(EXPIRED + 6 * DAY_MS);
  assert.equal(await weeks.dropExpired(), 168 + 20_051);
  assert.deepEqual(await rig.tables(), { [WEEK + 1]: 32, other: 0 });
  assert.deepEqual(await rig.readings("acme"), [32, 32, 32]);
  assert.deepEqual(await rig.readings("beta"), [0, 0, 0]);

  // What comes after its week is gone has a place, and is not lost.
  await rig.upload("acme", 1, [THURSDAY], EXPIRED + 6 * DAY_MS);
  assert.deepEqual(await rig.readings("acme"), [33, 33, 33]);
});

test("dropExpired() keeps what arrived late, and what others keep for longer", async (rig) => {
  await rig.organization("acme", 1, 30);
  await rig.organization("keeper", 2, null);
  await rig.hours("acme", 1, 100);
  await rig.hours("acme", 1, 20, EXPIRED - 2 * DAY_MS);
  await rig.hours("keeper", 2, 10);
  rig.clock.setNow(EXPIRED);
  assert.equal(await rig.weeks().dropExpired(), 100);
  assert.deepEqual(await rig.readings("acme"), [20, 20, 20]);
  assert.deepEqual(await rig.readings("keeper"), [10, 10, 10]);
  assert.deepEqual(await rig.tables(), { other: 30 });
});

test("dropExpired() leaves a week of which much is kept, and drops it when it is empty", async (rig) => {
  await rig.organization("acme", 1, 30);
  await rig.organization("keeper", 2, null);
  await rig.hours("acme", 1, 10);
  for (let upload = 0; upload < 1_001; upload++) {
    await rig.upload("keeper", 2, [THURSDAY + upload]);
  }
  rig.clock.setNow(EXPIRED);
  assert.equal(await rig.weeks().dropExpired(), 0);
  assert.deepEqual(await rig.readings("keeper"), [1_001, 1_001, 1_001]);
  assert.deepEqual(await rig.readings("acme"), [10, 10, 10]);
  assert.deepEqual(await rig.tables(), { [WEEK]: 1_011, other: 0 });
  await rig.database.queries.deleteFrom("tabular_readings").execute();
  assert.equal(await rig.weeks().dropExpired(), 0);
  assert.deepEqual(await rig.tables(), { other: 0 });
});

/** Works while a transaction has read a table. @param work can end the transaction before */
async function whileReading(
  server: PostgresServer,
  table: string,
  work: (ended: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const reader = new Client({ connectionString: server.address() });
  await reader.connect();
  try {
    await reader.query(`begin; select 1 from machine_cloud.${table} limit 1`);
    await work(async () => void await reader.query("commit"));
  } finally {
    await reader.end();
  }
}

/** Statements of which something is done before some. */
function before(
  statements: DirectStatements,
  pattern: RegExp,
  work: () => Promise<void>,
): DirectStatements {
  const passed = async (sql: string) => {
    if (pattern.test(sql)) await work();
  };
  return {
    ...statements,
    query: async (sql, values) => {
      await passed(sql);
      return await statements.query(sql, values);
    },
    script: async (sql) => {
      await passed(sql);
      await statements.script(sql);
    },
  };
}

test("dropExpired() leaves the empty table of a week that ended a few days ago", async (rig) => {
  rig.clock.setNow(THURSDAY + 20 * DAY_MS);
  await rig.weeks().dropExpired();
  assert.deepEqual(await rig.tables(), { [WEEK + 1]: 0, [WEEK + 2]: 0, other: 0 });
});

test("dropExpired() waits for who reads, and holds up nobody meanwhile", async (rig, server) => {
  await rig.organization("acme", 1, 30);
  await rig.hours("acme", 1, 10);
  rig.clock.setNow(EXPIRED);
  let pauses = 0;
  await whileReading(server, "tabular_readings", async (ended) => {
    const statements = before(rig.database.direct(), /pg_sleep/, async () => {
      pauses += 1;
      assert.deepEqual(await rig.readings("acme"), [10, 10, 10]);
      await ended();
    });
    assert.equal(await rig.weeks(statements).dropExpired(), 10);
  });
  assert.equal(pauses, 1);
});

test("dropExpired() leaves all weeks where somebody reads for long", async (rig, server) => {
  await rig.organization("acme", 1, 30);
  await rig.upload("acme", 1, [THURSDAY, THURSDAY + 7 * DAY_MS]);
  rig.clock.setNow(EXPIRED + 7 * DAY_MS);
  let pauses = 0;
  await whileReading(server, "tabular_readings", async () => {
    const statements = before(rig.database.direct(), /pg_sleep/, () => {
      pauses += 1;
      return Promise.resolve();
    });
    assert.equal(await rig.weeks(statements).dropExpired(), 0);
  });
  assert.equal(pauses, 3);
  assert.deepEqual(await rig.readings("acme"), [2, 2, 2]);
});

test("dropExpired() leaves what is uploaded while it looks", async (rig) => {
  await rig.organization("acme", 1, 30);
  await rig.hours("acme", 1, 10);
  rig.clock.setNow(EXPIRED);
  const late = before(
    rig.database.direct(),
    new RegExp(`DETACH PARTITION tabular_readings_${WEEK}`),
    () => rig.upload("acme", 1, [THURSDAY + 1], EXPIRED),
  );
  assert.equal(await rig.weeks(late).dropExpired(), 0);
  assert.deepEqual(await rig.readings("acme"), [11, 11, 11]);
  assert.equal(await rig.weeks().dropExpired(), 10);
  assert.deepEqual(await rig.readings("acme"), [1, 1, 1]);
});

test("dropExpired() leaves what is uploaded to an empty week", async (rig) => {
  await rig.organization("acme", 1, 30);
  rig.clock.setNow(EXPIRED);
  let isDone = false;
  const uploading = async () => {
    if (!isDone) await rig.upload("acme", 1, [THURSDAY + 1], EXPIRED);
    isDone = true;
  };
  const direct = rig.database.direct();
  await rig.weeks(before(direct, /max\(id\)/, uploading)).dropExpired();
  assert.deepEqual(await rig.readings("acme"), [1, 1, 1]);
});

test("two processes that drop a week at once take its readings off once", async (rig) => {
  await rig.organization("acme", 1, 30);
  await rig.hours("acme", 1, 10);
  rig.clock.setNow(EXPIRED);
  await Promise.allSettled([rig.weeks().dropExpired(), rig.weeks().dropExpired()]);
  await rig.weeks().dropExpired();
  assert.deepEqual(await rig.readings("acme"), [0, 0, 0]);
  assert.deepEqual(await rig.tables(), { other: 0 });
});

const SOURCE = `
  import { dropExpired } from "./reading_weeks_testing.ts";
  await dropExpired(Deno.args[0], Number(Deno.args[1]));`;

for (const faultPoint of ["data.weeks.detached", "data.weeks.dropping"]) {
  test(
    `a cloud killed at ${faultPoint} loses nothing that is kept, and counts on rightly`,
    async (rig, server) => {
      await rig.organization("acme", 1, 30);
      await rig.hours("acme", 1, 200);
      await rig.hours("acme", 1, 20, EXPIRED);
      const { signal, stderr } = await runFaultChild(SOURCE, {
        ...{ folder: import.meta.dirname ?? ".", isLarge: true, faultPoint },
        args: [server.address(), `${EXPIRED}`],
      });
      assert.equal(signal, "SIGKILL", stderr);
      assert.deepEqual(await rig.readings("acme"), [52, 220, 220]);
      rig.clock.setNow(EXPIRED);
      // A dump of the database reads the table for long.
      await whileReading(server, `tabular_readings_${WEEK}_expired`, async () => {
        assert.equal(await rig.weeks().dropExpired(), 0);
        assert.deepEqual(await rig.readings("acme"), [52, 220, 220]);
      });
      assert.equal(await rig.weeks().dropExpired(), 168);
      assert.deepEqual(await rig.readings("acme"), [52, 52, 52]);
      assert.deepEqual(await rig.tables(), { [WEEK + 1]: 32, other: 20 });
    },
  );
}
