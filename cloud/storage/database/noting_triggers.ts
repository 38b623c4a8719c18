import type { Database } from "../../../shared/base/store/connect.ts";
import { changeIf } from "./change_if.ts";

/** Keys of rows that changed while a move copies them, in the order of their changes. */
export const NOTES = "move_notes";
/** One row: whose notes they are, and until when they are taken. */
export const STATE = "move_notes_state";

/** Takes no more notes, and forgets all. */
export function endNotes(db: Database): void {
  const triggers = db.prepare<[], string>(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'noted_*'",
  ).pluck().all();
  for (const name of triggers) db.exec(`DROP TRIGGER "${name}"`);
  db.exec(`DROP TABLE IF EXISTS ${NOTES}; DROP TABLE IF EXISTS ${STATE}`);
}

/**
 * Removes the notes of a move that nobody continues any more.
 *
 * @throws {StoreError}
 */
export function endLapsedNotes(path: string): void {
  changeIf(path, areLapsed, (db) => {
    if (areLapsed(db)) endNotes(db);
  });
}

function areLapsed(db: Database): boolean {
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(STATE);
  return known !== undefined &&
    db.prepare(`SELECT 1 FROM ${STATE} WHERE until_s > unixepoch()`).get() === undefined;
}
