import { existsSync } from "node:fs";
import { fsErrorCode } from "../files/fs_error.ts";
import { addonFor, connect, type Database } from "./connect.ts";
import { applyMigrations, checkMigrations, type Migration } from "./migrations.ts";
import { dropSmallStatistics, renewStatistics } from "./statistics.ts";
import { storeError, type StoreLocation, toStoreError } from "./store_error.ts";

export type { Database, Statement } from "./connect.ts";
export type { Migration } from "./migrations.ts";
export { StoreError, type StoreErrorCode } from "./store_error.ts";

/** How {@link openSqlite} opens. */
export interface OpenOptions {
  /** What the product calls this database in messages: "server", "cloud". */
  name: string;
  /** All steps of the schema, in order. */
  migrations: readonly Migration[];
  /** FULL where a committed row is a promise, NORMAL for logs and caches. */
  synchronous: "FULL" | "NORMAL";
  /**
   * Nobody else may have it open, and SQLite makes no `-shm` file. Reading then works on a disk that
   * is full to the last byte. Default false.
   */
  isAlone?: boolean;
}

// A WAL that grew in a burst is cut back to this at the next checkpoint.
const WAL_LIMIT_BYTES = 4 * 1024 * 1024;
// quick_check reads the whole file, about 10 ms for 16 MiB. Larger files are looked through only
// when the last run did not end cleanly; damage elsewhere shows when the page is read.
const ALWAYS_CHECK_BYTES = 16 * 1024 * 1024;
const CHECK_AFTER_CRASH_BYTES = 256 * 1024 * 1024;
const HEADER = "SQLite format 3\0";

/**
 * Opens or creates a database: WAL, foreign keys, file mode 0600, schema brought up to date.
 * Everything that can be wrong with an existing file is found before anything is written to it.
 *
 * The agent may go back to the release before this one, and that refuses a newer schema: a
 * migration must leave the file readable by the previous release, or copy it first.
 *
 * A compiled binary keeps the SQLite addon next to the database, as a file of this user alone.
 *
 * @throws {StoreError} the file is then as it was.
 */
export function openSqlite(path: string, options: OpenOptions): Database {
  const at: StoreLocation = { name: options.name, path };
  try {
    const addon = addonFor(path);
    if (path === ":memory:") return prepare(connect(path, addon, false), options, at);
    inspectFile(path, addon, options, at);
    createPrivate(path);
    return prepare(open(path, addon, false, options), options, at);
  } catch (error) {
    throw toStoreError(error, at);
  }
}

/** Writes the WAL back into the file, updates the planner's statistics and closes. */
export function closeSqlite(db: Database): void {
  if (!db.open) return;
  try {
    renewStatistics(db);
    db.pragma("wal_checkpoint(TRUNCATE)");
  } catch {
    // The rows are safe in the WAL; the next start takes them from there.
  }
  db.close();
}

/** Looks at an existing file through a read-only connection. */
function inspectFile(
  path: string,
  addon: string | undefined,
  options: OpenOptions,
  at: StoreLocation,
): void {
  const size = sizeOf(path);
  if (size === 0) return; // a start that was killed at once leaves an empty file
  if (!hasHeader(path)) {
    throw storeError(
      "not-a-database",
      "is not a SQLite database. Check the path, or move the file away to start afresh; " +
        "it was not changed",
      at,
    );
  }
  const endedUncleanly = existsSync(`${path}-wal`);
  let db: Database | undefined;
  try {
    // A read-only connection cannot be alone.
    db = open(path, addon, !options.isAlone, options);
    inspect(db, size, endedUncleanly, options, at);
  } catch (error) {
    // A journal to be rolled back, or a folder that takes no -shm file, cannot be read without
    // writing. Then the writing connection looks, or says why it cannot write.
    if (!/^SQLITE_(READONLY_|CANTOPEN)/.test(fsErrorCode(error) ?? "")) throw error;
  } finally {
    db?.close();
  }
}

function inspect(
  db: Database,
  size: number,
  endedUncleanly: boolean,
  options: OpenOptions,
  at: StoreLocation,
): void {
  checkMigrations(db, options.migrations, at);
  const limit = endedUncleanly ? CHECK_AFTER_CRASH_BYTES : ALWAYS_CHECK_BYTES;
  if (size > limit) return;
  const verdict = db.pragma("quick_check(1)", { simple: true });
  if (verdict === "ok") return;
  throw storeError(
    "corrupt",
    `is damaged (${verdict}). Restore it from a backup, or move it away to start afresh; ` +
      "it was not changed",
    at,
  );
}

function prepare(db: Database, options: OpenOptions, at: StoreLocation): Database {
  try {
    checkMigrations(db, options.migrations, at);
    db.pragma("journal_mode = WAL");
    db.pragma(`synchronous = ${options.synchronous}`);
    db.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
    db.pragma("foreign_keys = ON");
    applyMigrations(db, options.migrations, at);
    forgetSmallTables(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function forgetSmallTables(db: Database): void {
  try {
    dropSmallStatistics(db);
  } catch {
    // The disk is full, or another process writes: queries are slower then, and right.
  }
}

function open(
  path: string,
  addon: string | undefined,
  readonly: boolean,
  { isAlone = false }: OpenOptions,
): Database {
  const db = connect(path, addon, readonly);
  if (isAlone) db.pragma("locking_mode = EXCLUSIVE");
  return db;
}

// SQLite gives -wal and -shm the permissions of the main file, so that one must be right first.
function createPrivate(path: string): void {
  Deno.openSync(path, { write: true, create: true, mode: 0o600 }).close();
  if (Deno.build.os !== "windows") Deno.chmodSync(path, 0o600);
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return 0;
    throw error;
  }
}

function hasHeader(path: string): boolean {
  using file = Deno.openSync(path, { read: true });
  const bytes = new Uint8Array(HEADER.length);
  return file.readSync(bytes) === bytes.length && new TextDecoder().decode(bytes) === HEADER;
}
