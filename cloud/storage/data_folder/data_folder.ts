import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { CloudDatabase } from "../database/cloud_database.ts";
import type { Random } from "../keys/random.ts";
import { type CloudKeys, loadOrCreateKeys } from "../keys/key_file.ts";
import { requireMatchingKeys } from "./key_check.ts";
import { refuseUnfinishedRestore } from "./unfinished_restore.ts";

/** What lies in the cloud's data folder, open and checked. */
export interface DataFolder {
  readonly database: CloudDatabase;
  readonly keys: CloudKeys;
}

/**
 * Opens a data folder, or makes it, for its owner only.
 *
 * @throws {FileError}, {StoreError}, {KeyFileError} or {UnfinishedRestoreError}, each with one line for the operator.
 */
export async function openDataFolder(path: string, random: Random): Promise<DataFolder> {
  await makeDataFolder(path);
  const keys = await loadOrCreateKeys(path, random);
  const database = CloudDatabase.open(path);
  try {
    await requireMatchingKeys(database.queries, keys, path);
  } catch (error) {
    database.close();
    throw error;
  }
  return { database, keys };
}

/**
 * Makes a data folder, for its owner only; one that is there stays as it is.
 *
 * @throws {FileError} or {UnfinishedRestoreError}
 */
export async function makeDataFolder(path: string): Promise<void> {
  refuseUnfinishedRestore(path);
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw toFileError(error, "create the data folder", path);
  }
}
