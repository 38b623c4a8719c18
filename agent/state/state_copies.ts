/**
 * Copies of a program's databases from before the first start of a new version. A new version may
 * bring the schema on, and the old one refuses a schema that it does not know; without the copy
 * there would be no way back.
 */
import { basename, dirname, join } from "node:path";
import { existsSync } from "node:fs";
import { removeIfExists } from "../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../shared/base/files/fs_error.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { copySqlite, restoreSqlite, schemaOf } from "../../shared/base/store/copy.ts";
import { StoreError } from "../../shared/base/store/sqlite.ts";

const BEFORE = ".before-";
const NEWER = ".newer";

/** Where the copy from before a version lies. */
export function copyPath(path: string, version: string): string {
  return `${path}${BEFORE}${version.replaceAll(/[^A-Za-z0-9._+-]/g, "_").slice(0, 80)}`;
}

/**
 * Copies the databases before a version runs for the first time. One that cannot be read is left
 * out: the old version cannot use it either.
 *
 * @param isInUse the old version still runs: a database that it has for itself is left out, too.
 * @throws {StoreError} when the disk takes no copy.
 */
export async function saveCopies(
  databases: readonly string[],
  version: string,
  log: Logger,
  { isInUse = false } = {},
): Promise<void> {
  for (const path of databases) {
    try {
      await copySqlite(path, copyPath(path, version));
    } catch (error) {
      if (isInUse && error instanceof StoreError && error.code === "busy") continue;
      if (!isDamage(error)) throw error;
      log.warn("a damaged database is not copied before the update", { error });
    }
  }
}

/**
 * Gives the old version back what it can read: where the new one brought the schema on or left a
 * damaged database, the copy takes its place, and what was there goes aside as `PATH.newer`.
 * Nobody may have the databases open.
 *
 * @throws {StoreError}
 */
export async function restoreCopies(
  databases: readonly string[],
  version: string,
  log: Logger,
): Promise<void> {
  for (const path of databases) {
    const copy = copyPath(path, version);
    if (!existsSync(copy) || !isNewerThan(path, copy)) continue;
    await restoreSqlite(copy, path, path + NEWER);
    log.warn("the database from before the update is used again", { path, newer: path + NEWER });
  }
}

/** Removes the copies for all versions; they have served. */
export async function dropCopies(databases: readonly string[]): Promise<void> {
  for (const path of databases) {
    for (const copy of copiesOf(path)) await removeIfExists(copy);
  }
}

/** All copies of a database, the newest first. */
export function copiesOf(path: string): string[] {
  const folder = dirname(path);
  const prefix = basename(path) + BEFORE;
  const found: { path: string; time: number }[] = [];
  try {
    for (const { name } of Deno.readDirSync(folder)) {
      if (!name.startsWith(prefix)) continue;
      const copy = join(folder, name);
      found.push({ path: copy, time: Deno.statSync(copy).mtime?.getTime() ?? 0 });
    }
  } catch (error) {
    if (fsErrorCode(error) !== "ENOENT") throw toFileError(error, "look into", folder);
  }
  return found.sort((a, b) => b.time - a.time).map((copy) => copy.path);
}

/** In doubt it is: what was written since the copy is little, and it must be readable. */
function isNewerThan(path: string, copy: string): boolean {
  if (!existsSync(path)) return true;
  try {
    return schemaOf(path) > schemaOf(copy);
  } catch {
    return true; // Damaged, or on a disk so full that SQLite cannot read it.
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof StoreError && ["corrupt", "not-a-database"].includes(error.code);
}
