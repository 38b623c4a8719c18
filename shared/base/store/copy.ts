/** Copies of a database for the way back to an older program, and what happens to a damaged one. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { faultPoint } from "../faults/fault_point.ts";
import { syncFolder } from "../files/atomic_write.ts";
import { fsErrorCode } from "../files/fs_error.ts";
import { addonFor, connect } from "./connect.ts";
import { toStoreError } from "./store_error.ts";

/** What SQLite keeps next to a database. */
const BESIDE = ["-wal", "-shm", "-journal"];

/**
 * Copies a database, what is committed in its WAL included, so that the copy is whole or not there.
 * Others may have it open. A copy that is there already is replaced.
 *
 * @returns false when there is no database.
 * @throws {StoreError} when it is damaged or the disk takes no copy; an old copy is then as it was.
 */
export async function copySqlite(path: string, copy: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  const unfinished = `${copy}.unfinished`;
  try {
    removeFiles(unfinished);
    const db = connect(path, addonFor(path), false);
    try {
      db.prepare("VACUUM INTO ?").run(unfinished);
    } finally {
      db.close();
    }
    if (Deno.build.os !== "windows") await Deno.chmod(unfinished, 0o600);
    faultPoint("store.copy.before-fsync");
    await syncFile(unfinished);
    faultPoint("store.copy.before-rename");
    await Deno.rename(unfinished, copy);
    faultPoint("store.copy.after-rename");
    await syncFolder(dirname(copy));
    return true;
  } catch (error) {
    try {
      removeFiles(unfinished);
    } catch {
      // The first error is the one to report.
    }
    throw toStoreError(error, { name: "saved", path });
  }
}

/**
 * Puts a copy in the place of a database; the copy is used up. Nobody may have the database open.
 * Takes no room, so that it also works on a full disk.
 *
 * @param aside where the replaced database goes; what was there is lost.
 * @throws {StoreError}
 */
export async function restoreSqlite(copy: string, path: string, aside: string): Promise<void> {
  try {
    foldWal(path);
    await keepAside(path, aside);
    // A WAL that could not be folded belongs to the old file and would be played into the new one.
    removeFiles(...BESIDE.map((suffix) => path + suffix));
    faultPoint("store.restore.before-rename");
    await Deno.rename(copy, path);
    faultPoint("store.restore.after-rename");
    await syncFolder(dirname(path));
  } catch (error) {
    throw toStoreError(error, { name: "saved", path });
  }
}

/**
 * The number of the last migration that a database went through; 0 for none.
 *
 * @throws {StoreError} when it is damaged or no database.
 */
export function schemaOf(path: string): number {
  try {
    const db = connect(path, addonFor(path), false);
    try {
      const newest = db.prepare<[], number | null>("SELECT max(version) FROM schema_migrations")
        .pluck().get();
      return newest ?? 0;
    } finally {
      db.close();
    }
  } catch (error) {
    if (/no such table/.test(String(error))) return 0;
    throw toStoreError(error, { name: "saved", path });
  }
}

/** Renames a database with all that belongs to it. What is at the new place is lost. */
export async function moveSqlite(path: string, aside: string): Promise<void> {
  try {
    // The main file goes first: cut in between, the next start finds no database and begins one,
    // and SQLite drops a WAL that does not fit it.
    await Deno.rename(path, aside);
    for (const suffix of BESIDE) {
      if (existsSync(path + suffix)) await Deno.rename(path + suffix, aside + suffix);
      else removeFiles(aside + suffix);
    }
    await syncFolder(dirname(path));
  } catch (error) {
    throw toStoreError(error, { name: "saved", path });
  }
}

/** Writes the WAL back into the file. One that cannot be read is left; it goes with the file. */
function foldWal(path: string): void {
  if (!existsSync(path)) return;
  try {
    const db = connect(path, addonFor(path), false);
    try {
      db.pragma("wal_checkpoint(TRUNCATE)");
    } finally {
      db.close();
    }
  } catch {
    // Damaged; it is replaced as it is.
  }
}

/** Keeps a second name for the file, so that there is no moment without a database. */
async function keepAside(path: string, aside: string): Promise<void> {
  removeFiles(aside, ...BESIDE.map((suffix) => aside + suffix));
  try {
    await Deno.link(path, aside);
  } catch {
    // None there, or a file system without hard links: what is replaced is then lost.
  }
}

async function syncFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

function removeFiles(...paths: string[]): void {
  for (const path of paths) {
    try {
      Deno.removeSync(path);
    } catch (error) {
      if (fsErrorCode(error) !== "ENOENT") throw error;
    }
  }
}
