import { existsSync } from "node:fs";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { toStoreError } from "../../../shared/base/store/store_error.ts";
import { MOVED_TEXT } from "./call_failures.ts";

const EVENTS = ["INSERT", "UPDATE", "DELETE"] as const;

/** Makes a file refuse all changes of rows, also those of programs that have it open. */
export function refuseChanges(db: Database, tables: readonly string[], place: string): void {
  dropTriggers(db);
  const message = `${MOVED_TEXT} ${place}; nothing was saved`.replaceAll("'", "''");
  for (const table of tables) {
    for (const event of EVENTS) {
      db.exec(`CREATE TRIGGER "moved_${table}_${event}" BEFORE ${event} ON "${table}"
        BEGIN SELECT RAISE(ABORT, '${message}'); END`);
    }
  }
}

/** Whether {@link refuseChanges} was called for a file. */
export function refusesChanges(db: Database): boolean {
  return triggersOf(db).length > 0;
}

/**
 * Makes a file take changes again after a move that was cut or given up.
 *
 * @param isDue is asked while nobody else can write to the file
 * @throws {StoreError}
 */
export function allowChanges(path: string, isDue: () => boolean): void {
  if (!isRefusing(path)) return;
  try {
    const db = connect(path, addonFor(path), false);
    try {
      db.transaction(() => {
        if (isDue()) dropTriggers(db);
      }).immediate();
    } finally {
      db.close();
    }
  } catch (error) {
    throw toStoreError(error, { name: "cloud", path });
  }
}

function isRefusing(path: string): boolean {
  if (!existsSync(path)) return false;
  let db: Database | undefined;
  try {
    // A connection that may write removes the log when it closes; one that may not leaves it. The
    // log shows the next start that the last one was cut: it stays as it was.
    db = connect(path, addonFor(path), existsSync(`${path}-wal`));
    return refusesChanges(db);
  } catch {
    return false; // who opens it says what is wrong
  } finally {
    db?.close();
  }
}

function dropTriggers(db: Database): void {
  for (const name of triggersOf(db)) db.exec(`DROP TRIGGER IF EXISTS "${name}"`);
}

function triggersOf(db: Database): string[] {
  return db.prepare<[], string>(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'moved_*'",
  ).pluck().all();
}
