/** A data folder as it was at one moment, while others continue writing to it. */
import { join } from "node:path";
import { existsSync } from "node:fs";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { SYNC_EVERY_BYTES } from "./archive.ts";
import { filesToKeep } from "./folder_files.ts";

/** Pages of 4 KiB that one step copies; then the disk writes them. */
const PAGES_AT_ONCE = SYNC_EVERY_BYTES / 4096;
/** Files that were written and deleted between two looks make a second attempt necessary. */
const ATTEMPTS = 3;

/** Tables whose ids are names of files, by folder. A cloud of an older version lacks some. */
const NAMED_FILES = {
  "blobs": "package_files",
  "releases": "release_files",
  "data-files": "binary_data",
  "data-archive": "archived_files",
} as const;

/** The rows of a cloud as they were at one moment, in files of SQLite. */
export interface CopiedRows {
  /** Paths. */
  readonly cloud: string;
  /** Undefined: it never served. */
  readonly logs: string | undefined;
  /** The file of the certificate authority, where its text is among the rows. */
  readonly authority?: string | undefined;
}

/** @param taken to be called after the moment of the rows; what comes later does not count */
export type CopyRows = (taken: () => Promise<void>) => Promise<CopiedRows>;

export interface Snapshot {
  readonly rows: CopiedRows;
  /** Paths from the data folder, and where their contents are. */
  readonly files: ReadonlyMap<string, string>;
  /** Files that the database names and that are not in the folder. */
  readonly elsewhere: number;
  /** Large files of this cloud are kept in an object storage. */
  readonly hasObjectStorage: boolean;
}

/**
 * Copies the rows and holds on to every file that it names: a second name (hard link) keeps a
 * file that is deleted meanwhile. The row of a file is written after it and deleted before it, so
 * that files held before and after the copy are all that the copy can name.
 *
 * @param staging a folder on the same disk as the data folder
 */
export async function takeSnapshot(
  dataDir: string,
  staging: string,
  copyRows: CopyRows,
): Promise<Snapshot> {
  const files = new Map<string, string>();
  for (let attempt = 1;; attempt++) {
    await hold(dataDir, staging, files);
    const rows = await copyRows(() => hold(dataDir, staging, files));
    const { missing, hasObjectStorage } = look(rows.cloud, files);
    if (missing === 0 || hasObjectStorage || attempt === ATTEMPTS) {
      return { rows, files, elsewhere: missing, hasObjectStorage };
    }
  }
}

/** Gives every file of the folder that is not held yet a second name. */
async function hold(dataDir: string, staging: string, files: Map<string, string>): Promise<void> {
  for await (const path of filesToKeep(dataDir)) {
    if (files.has(path)) continue;
    const from = join(dataDir, path);
    const held = join(staging, String(files.size));
    try {
      await Deno.link(from, held);
      files.set(path, held);
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") continue;
      files.set(path, from); // A file system without hard links: it is read where it is.
    }
  }
}

/**
 * Copies a database as it is at one moment; others may write to it. The copy is replaced. It goes to
 * the disk in pieces, so that what others save meanwhile does not wait for all of it.
 */
export async function copyDatabase(path: string, copy: string): Promise<void> {
  await Deno.remove(copy).catch((error) => {
    if (fsErrorCode(error) !== "ENOENT") throw error;
  });
  using written = await Deno.open(copy, { write: true, createNew: true, mode: 0o600 });
  const db = connect(path, addonFor(path), true);
  try {
    // What this connection reads stays as it is until the end of the transaction. Without one the
    // copy would start again with each write of another process.
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    await db.backup(copy, {
      progress: () => {
        written.syncDataSync();
        return PAGES_AT_ONCE;
      },
    });
  } finally {
    db.close();
  }
}

function look(
  copy: string,
  files: ReadonlyMap<string, string>,
): { missing: number; hasObjectStorage: boolean } {
  return withDatabase(copy, (db) => {
    let missing = 0;
    const tables = new Set(
      db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all(),
    );
    for (const [folder, table] of Object.entries(NAMED_FILES)) {
      if (!tables.has(table)) continue;
      for (const { id } of db.prepare<[], { id: string }>(`SELECT id FROM ${table}`).iterate()) {
        if (!files.has(`${folder}/${id}`)) missing++;
      }
    }
    const storage = db.prepare("SELECT 1 FROM settings WHERE name = 'storage_id'").get();
    return { missing, hasObjectStorage: storage !== undefined };
  });
}

/** The number of a database's last migration; 0 where there is no database. */
export function schemaVersion(path: string): number {
  if (!existsSync(path)) return 0;
  return withDatabase(path, (db) =>
    db.prepare<[], { version: number | null }>(
      "SELECT max(version) AS version FROM schema_migrations",
    ).get()?.version ?? 0);
}

function withDatabase<T>(path: string, work: (db: Database) => T): T {
  const db = connect(path, addonFor(path), false);
  try {
    return work(db);
  } finally {
    db.close();
  }
}
