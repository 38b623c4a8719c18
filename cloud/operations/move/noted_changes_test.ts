import assert from "node:assert/strict";
import { join } from "node:path";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { openDatabase } from "../../storage/data_folder/database_choice.ts";
import { ChangedRows, keepNoting, noteChanges, notedMoment } from "./noted_changes.ts";
import { BATCH, sizeOf } from "./rows.ts";
import { SqliteRows } from "./sqlite_rows.ts";

/** With one table, whose changes are noted for a move. */
function noting(id: string): Database & Disposable {
  const db = connect(":memory:", undefined, false);
  db.exec("CREATE TABLE pages (id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  noteChanges(db, new SqliteRows(db).tables, id);
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() });
}

function add(db: Database, rows: number, text: string): void {
  db.prepare(`WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?)
    INSERT INTO pages (text) SELECT ? FROM n`).run(rows, text);
}

function notes(db: Database): number {
  return db.prepare<[], number>("SELECT count(*) FROM move_notes").pluck().get() ?? 0;
}

Deno.test("ChangedRows.batches() are bounded in bytes, and have each changed row once", () => {
  using db = noting("a");
  const text = "x".repeat(BATCH.bytes / 4);
  add(db, 11, text);
  db.exec("DELETE FROM pages WHERE id = 3");
  const [table] = new SqliteRows(db).tables;
  assert.ok(table);
  const batches = [...new ChangedRows(db, 0n).batches(table, undefined)];
  for (const { rows } of batches) {
    const bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0);
    assert.ok(bytes <= BATCH.bytes + text.length + 8, `${bytes}`);
  }
  const keys = batches.flatMap((batch) => batch.keys.map(({ here }) => Number(here[0])));
  assert.deepEqual(keys.sort((a, b) => a - b), Array.from({ length: 11 }, (_, at) => at + 1));
  const ids = batches.flatMap(({ rows }) => rows.map(([id]) => Number(id)));
  assert.deepEqual(ids.sort((a, b) => a - b), [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
});

Deno.test("keepNoting() forgets no notes of a move that was begun meanwhile", async () => {
  using db = noting("a");
  add(db, 5, "x");
  const moment = notedMoment(db);
  assert.ok(moment);
  noteChanges(db, new SqliteRows(db).tables, "b");
  add(db, 9, "y");
  await keepNoting(db, moment, systemClock);
  assert.equal(notes(db), 9);
  assert.equal(notedMoment(db)?.id, "b");
});

Deno.test("keepNoting() lets others write between few rows, and stops for another move", async () => {
  using db = noting("a");
  add(db, 5_000, "x");
  const moment = notedMoment(db);
  assert.ok(moment);
  const clock = new FakeClock();
  const kept = keepNoting(db, moment, clock);
  assert.equal(notes(db), 3_000);
  await clock.advance(20);
  assert.equal(notes(db), 1_000);
  noteChanges(db, new SqliteRows(db).tables, "b");
  add(db, 3, "y");
  await clock.advance(20);
  await kept;
  assert.equal(notes(db), 3);
});

Deno.test("openDatabase() removes notes that are taken no more, and no others", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-notes-" });
  try {
    await (await openDatabase(folder)).close();
    const path = join(folder, "cloud.db");
    const left = (work: (db: Database) => void) => {
      const db = connect(path, addonFor(path), false);
      work(db);
      const sql = "SELECT name FROM sqlite_schema WHERE name GLOB 'move_notes*' OR name GLOB " +
        "'noted_*'";
      const names = db.prepare(sql).all();
      db.close();
      return names.length;
    };
    const noted = left((db) => noteChanges(db, new SqliteRows(db).tables, "a"));
    assert.ok(noted > 2);
    await (await openDatabase(folder)).close();
    assert.equal(left(() => {}), noted);
    left((db) => db.exec("UPDATE move_notes_state SET until_s = unixepoch()"));
    await (await openDatabase(folder)).close();
    assert.equal(left(() => {}), 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
