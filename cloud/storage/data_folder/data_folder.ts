import { existsSync } from "node:fs";
import { join } from "node:path";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { CloudDatabase } from "../database/cloud_database.ts";
import type { Random } from "../keys/random.ts";
import { type CloudKeys, loadOrCreateKeys } from "../keys/key_file.ts";
import { openDatabase } from "./database_choice.ts";
import { requireMatchingKeys } from "./key_check.ts";
import { refuseUnfinishedRestore } from "./unfinished_restore.ts";

/**
 * What the cloud makes in its data folder before any other folder, and folders in which it removes
 * what it does not know.
 */
const FIRST_FILES = ["cloud.key", "cloud.db", "database"];
const OWN_FOLDERS =
  /^(blobs|data-archive|data-exports|data-files|incoming|releases|training(-.*)?)$/;

/** A folder of something else was given as the data folder. */
export class NoDataFolderError extends Error {
  override readonly name = "NoDataFolderError";
}

/** What lies in the cloud's data folder, open and checked. */
export interface DataFolder {
  readonly database: CloudDatabase;
  readonly keys: CloudKeys;
}

/**
 * Opens a data folder, or makes it, for its owner only.
 *
 * @param address of PostgreSQL; left out: see `databaseAddress`
 * @throws {FileError}, {StoreError}, {KeyFileError}, {DatabaseChoiceError}, {NoDataFolderError} or
 * {UnfinishedRestoreError}, each with one line for the operator.
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
 * @throws {FileError}, {NoDataFolderError} or {UnfinishedRestoreError}
 */
export async function makeDataFolder(path: string): Promise<void> {
  refuseUnfinishedRestore(path);
  refuseOthersFolder(path);
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw toFileError(error, "create the data folder", path);
  }
}

function refuseOthersFolder(path: string): void {
  if (FIRST_FILES.some((name) => existsSync(join(path, name)))) return;
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(path)];
  } catch {
    return; // Making or opening it says what is wrong.
  }
  const others = entries.find(({ name, isDirectory }) => isDirectory && OWN_FOLDERS.test(name));
  if (!others) return;
  throw new NoDataFolderError(
    `${path} is no data folder of a cloud, and has a folder ${others.name}, in which a cloud would ` +
      "remove what it does not know; name a new or empty folder with --data",
  );
}
