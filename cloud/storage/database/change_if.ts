import { existsSync } from "node:fs";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { toStoreError } from "../../../shared/base/store/store_error.ts";

/**
 * Changes `cloud.db` before it is opened, where it needs that; left alone is a file that does not.
 *
 * @param work while nobody else can write to the file
 * @throws {StoreError}
 */
export function changeIf(
  path: string,
  isNeeded: (db: Database) => boolean,
  work: (db: Database) => void,
): void {
  if (!looksSo(path, isNeeded)) return;
  try {
    const db = connect(path, addonFor(path), false);
    try {
      db.transaction(() => work(db)).immediate();
    } finally {
      db.close();
    }
  } catch (error) {
    throw toStoreError(error, { name: "cloud", path });
  }
}

function looksSo(path: string, ask: (db: Database) => boolean): boolean {
  if (!existsSync(path)) return false;
  let db: Database | undefined;
  try {
    // A connection that may write removes the log when it closes; one that may not leaves it. The
    // log shows the next start that the last one was cut: it stays as it was.
    db = connect(path, addonFor(path), existsSync(`${path}-wal`));
    return ask(db);
  } catch {
    return false; // who opens it says what is wrong
  } finally {
    db?.close();
  }
}
