import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { CloudDatabase } from "../database/cloud_database.ts";
import type { Random } from "../keys/random.ts";
import { type CloudKeys, loadOrCreateKeys } from "../keys/key_file.ts";
import { openDatabase } from "./database_choice.ts";
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
 * @param address of PostgreSQL; left out: see `databaseAddress`
 * @throws {FileError}, {StoreError}, {KeyFileError}, {DatabaseChoiceError} or {UnfinishedRestoreError}, each with one
 * line for the operator.
 */
export async function openDataFolder(
  path: string,
  random: Random,
  address?: string,
): Promise<DataFolder> {
  await makeDataFolder(path);
  const keys = await loadOrCreateKeys(path, random);
  const database = await openDatabase(path, address);
  try {
    await requireMatchingKeys(database, keys, path);
  } catch (error) {
    await database.close();
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
