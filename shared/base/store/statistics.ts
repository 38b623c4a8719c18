import type { Database } from "./connect.ts";

/** Below this a table is one that may soon be a hundred times as large. */
const FEWEST_ROWS = 10_000;

/**
 * Brings the planner's statistics of large tables up to date. Where SQLite would count small ones
 * only nothing is written: an end waits for the disk less, twice.
 */
export function renewStatistics(db: Database): void {
  const planned = db.pragma("optimize(-1)") as { readonly optimize: string }[];
  if (!planned.some(({ optimize }) => isOfLargeTable(db, optimize))) return;
  db.pragma("optimize");
  dropSmallStatistics(db);
}

/** @param analyze as SQLite reports what it would do: `ANALYZE "main"."table"`. */
function isOfLargeTable(db: Database, analyze: string): boolean {
  const table = /^ANALYZE ("(?:[^"]|"")*"\."(?:[^"]|"")*")$/.exec(analyze)?.[1];
  if (table === undefined) return true;
  return db.prepare(`SELECT 1 FROM ${table} LIMIT 1 OFFSET ?`).get(FEWEST_ROWS - 1) !== undefined;
}

/**
 * Forgets the planner's statistics of small tables. They say that reading all rows costs as much as
 * an index, and SQLite believes it until the next start, while the table grows to any size.
 */
export function dropSmallStatistics(db: Database): void {
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE name IN (?, ?)")
    .pluck().all("sqlite_stat1", "sqlite_stat4");
  if (!tables.includes("sqlite_stat1")) return;
  const small = "CAST(stat AS INTEGER) < ?";
  if (!db.prepare(`SELECT 1 FROM sqlite_stat1 WHERE ${small}`).get(FEWEST_ROWS)) return;
  db.prepare(`DELETE FROM sqlite_stat1 WHERE ${small}`).run(FEWEST_ROWS);
  if (tables.includes("sqlite_stat4")) {
    db.exec(`DELETE FROM sqlite_stat4 WHERE NOT EXISTS (SELECT 1 FROM sqlite_stat1 AS kept
      WHERE kept.tbl = sqlite_stat4.tbl AND kept.idx = sqlite_stat4.idx)`);
  }
  db.exec("ANALYZE sqlite_master"); // reads what is left; counts nothing
}
