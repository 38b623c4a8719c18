import assert from "node:assert/strict";
import { join } from "node:path";
import { sql } from "kysely";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { connect } from "../../../shared/base/store/connect.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { SqliteDatabase } from "../database/cloud_database.ts";
import { Checkpoints } from "./checkpoints.ts";

async function withDatabase(work: (database: SqliteDatabase, dataDir: string) => Promise<void>) {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-checkpoints-" });
  const database = SqliteDatabase.open(dataDir);
  try {
    await work(database, dataDir);
  } finally {
    database.close();
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Writes rows, which are the settings `nFROM` and on; one of a kilobyte takes a page. */
async function write(
  database: SqliteDatabase,
  from: number,
  rows: number,
  bytes = 100,
): Promise<void> {
  await database.queries.transaction().execute(async (transaction) => {
    await sql`WITH RECURSIVE n(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM n
        WHERE n < ${from + rows - 1})
      INSERT INTO settings SELECT printf('n%08d', n), ${"x".repeat(bytes)} FROM n`.execute(
      transaction,
    );
  });
}

Deno.test("Checkpoints lets a process make them while much is written, and ends it", () =>
  withDatabase(async (database, dataDir) => {
    const log = memoryLogger("machine-cloud");
    const checkpoints = new Checkpoints({ database, dataDir, clock: systemClock, log });
    const stop = new AbortController();
    const running = checkpoints.run(stop.signal);
    const fileSize = () => Deno.statSync(join(dataDir, "cloud.db")).size;
    await write(database, 0, 9_000);
    assert.ok(fileSize() < 100_000, "a commit made a checkpoint itself");
    await write(database, 9_000, 2_000);
    await waitFor(() => fileSize() > 1_100_000, {
      deadlineMs: 60_000,
      what: "the rows are in the file",
    });
    // One that runs is requested fewer.
    await write(database, 11_000, 1_500);
    await waitFor(() => fileSize() > 1_400_000, {
      deadlineMs: 60_000,
      what: "the other rows are in the file",
    });
    stop.abort();
    await running;
    assert.equal(log.text(), "");
    const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM settings
      WHERE name LIKE 'n%'`.execute(database.queries);
    assert.equal(rows[0]?.count, 12_500);
  }));

Deno.test("Checkpoints goes on without a process that fails, and loses nothing", () =>
  withDatabase(async (database, dataDir) => {
    const log = memoryLogger("machine-cloud");
    const program = { command: Deno.execPath(), args: ["eval", "Deno.exit(1)"] };
    const checkpoints = new Checkpoints({ database, dataDir, clock: systemClock, log, program });
    const stop = new AbortController();
    const running = checkpoints.run(stop.signal);
    await write(database, 0, 12_000);
    await waitFor(() => /the cloud makes them itself meanwhile/.test(log.text()), {
      deadlineMs: 60_000,
      what: "the failure is told",
    });
    // With enough pages a commit makes one.
    await write(database, 12_000, 9_000, 1_000);
    await write(database, 42_000, 10);
    assert.ok(Deno.statSync(join(dataDir, "cloud.db")).size > 30_000_000);
    stop.abort();
    await running;
  }));

Deno.test("a database is whole when the cloud and the process were killed in a checkpoint", () =>
  withDatabase(async (database, dataDir) => {
    await write(database, 0, 12_000);
    const log = memoryLogger("machine-cloud");
    const checkpoints = new Checkpoints({ database, dataDir, clock: systemClock, log });
    const stop = new AbortController();
    const running = checkpoints.run(stop.signal);
    await write(database, 12_000, 12_000);
    // What a host has on its disk that stops now.
    const copy = await Deno.makeTempDir({ prefix: "machine-cloud-checkpoints-" });
    try {
      const size = () => Deno.statSync(join(dataDir, "cloud.db")).size;
      await waitFor(() => size() > 1_000_000, { deadlineMs: 60_000, everyMs: 1 });
      for (const name of ["cloud.db", "cloud.db-wal"]) {
        await Deno.copyFile(join(dataDir, name), join(copy, name));
      }
      const opened = connect(join(copy, "cloud.db"), undefined, false);
      try {
        assert.equal(opened.pragma("integrity_check", { simple: true }), "ok");
        const [row] = opened.prepare("SELECT count(*) AS count FROM settings WHERE name LIKE 'n%'")
          .all() as { count: number }[];
        assert.equal(row?.count, 24_000);
      } finally {
        opened.close();
      }
    } finally {
      await Deno.remove(copy, { recursive: true });
      stop.abort();
      await running;
    }
  }));
