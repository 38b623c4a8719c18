import type { Database } from "../../../shared/base/store/connect.ts";
import { MOVED_TEXT } from "./call_failures.ts";
import { changeIf } from "./change_if.ts";

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
 * Makes a file take changes again after a move that was cut or aborted.
 *
 * @param isDue is asked while nobody else can write to the file
 * @throws {StoreError}
 */
export function allowChanges(path: string, isDue: () => boolean): void {
  changeIf(path, refusesChanges, (db) => {
    if (isDue()) dropTriggers(db);
  });
}

function dropTriggers(db: Database): void {
  for (const name of triggersOf(db)) db.exec(`DROP TRIGGER IF EXISTS "${name}"`);
}

function triggersOf(db: Database): string[] {
  return db.prepare<[], string>(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'moved_*'",
  ).pluck().all();
}
