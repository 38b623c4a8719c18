import assert from "node:assert/strict";
import { join } from "node:path";
import { closeSqlite, type Database, openSqlite } from "./sqlite.ts";

const migrations = [{
  version: 1,
  name: "lines",
  up: `CREATE TABLE "the ""lines""" (part TEXT, line TEXT) STRICT;
    CREATE INDEX lines_part ON "the ""lines""" (part)`,
}];

/** Rows are written and looked for, the file is closed and opened again: what SQLite knows then. */
async function statisticsAfter(rows: number): Promise<{ known: unknown[]; written: boolean }> {
  const folder = await Deno.makeTempDir({ prefix: "statistics-" });
  try {
    const path = join(folder, "test.db");
    const open = () => openSqlite(path, { name: "test", migrations, synchronous: "FULL" });
    const db = open();
    db.prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO "the ""lines""" SELECT i % 10, 'x' FROM n`).run(rows);
    look(db);
    closeSqlite(db);
    const again = open();
    const tables = again.prepare("SELECT name FROM sqlite_master WHERE name = 'sqlite_stat1'")
      .all();
    const known = tables.length > 0 ? again.prepare("SELECT tbl FROM sqlite_stat1").all() : [];
    again.close();
    return { known, written: tables.length > 0 };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function look(db: Database): void {
  db.prepare(`SELECT count(*) FROM "the ""lines""" WHERE part = ?`).get("1");
}

Deno.test("closeSqlite() writes statistics of a table with 10,000 rows", async () => {
  const { known } = await statisticsAfter(10_000);
  assert.deepEqual(known, [{ tbl: 'the "lines"' }]);
});

Deno.test("closeSqlite() writes none when all tables are small", async () => {
  assert.deepEqual(await statisticsAfter(9_999), { known: [], written: false });
});
