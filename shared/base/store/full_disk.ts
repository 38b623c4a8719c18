/** Databases on a disk that has not a byte left. */
import type { Database } from "./connect.ts";
import { type OpenOptions, openSqlite, StoreError } from "./sqlite.ts";

/**
 * As {@link openSqlite}. On a disk that is full to the last byte, where SQLite has no room for the
 * file that processes share, the database is opened for this process alone: what is there can be
 * read, and written once there is room.
 *
 * @param onFull notified why, when it was opened so.
 * @throws {StoreError}
 */
export function openAlsoWhenFull(
  path: string,
  options: OpenOptions,
  onFull: (error: StoreError) => void,
): Database {
  try {
    return openSqlite(path, options);
  } catch (error) {
    if (!meansFullDisk(error)) throw error;
    const db = openSqlite(path, { ...options, isAlone: true });
    onFull(error);
    return db;
  }
}

/** SQLite reports a missing page of shared memory as of a disk that fails. */
export function meansFullDisk(error: unknown): error is StoreError {
  return error instanceof StoreError && ["failed", "disk-full"].includes(error.code);
}
