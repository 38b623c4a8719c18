import { join } from "node:path";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { CloudDatabase, DatabaseLock } from "../database/cloud_database.ts";
import { makeDataFolder } from "./data_folder.ts";

/** Another process serves this data folder. */
export class DataFolderInUseError extends Error {
  override readonly name = "DataFolderInUseError";
}

/**
 * Takes a data folder, made when it is not there, for the one process that serves it: two would
 * each keep who is online and who listens for itself.
 *
 * @throws {DataFolderInUseError}, {UnfinishedRestoreError} or {FileError}, each with one line for
 * the operator.
 */
export async function lockForServing(dataDir: string): Promise<Disposable> {
  await makeDataFolder(dataDir);
  return await lockFolder(
    dataDir,
    "serve.lock",
    `another "machine-cloud serve" works on ${dataDir}; stop that one, or give this one another ` +
      "data folder with --data",
  );
}

/**
 * Takes a database for the one process that serves it, or, `shared`, for one of several.
 *
 * @throws {DataFolderInUseError} with one line for the operator.
 */
export async function lockDatabase(
  database: CloudDatabase,
  { shared }: { readonly shared: boolean },
): Promise<DatabaseLock> {
  const lock = await database.lockForServing({ shared });
  if (lock) return lock;
  throw new DataFolderInUseError(
    shared
      ? `another "machine-cloud serve" works on ${database.place} without --cluster; stop that one first`
      : `another "machine-cloud serve" works on ${database.place}; give each of them --cluster, stop ` +
        "that one first, or let this one be started again and again until that one has ended",
  );
}

/**
 * Takes a file of a folder, both made when they are not there, for one process at a time. The system
 * gives the lock back when the process ends, however it ends; the file stays.
 *
 * @param inUse what is reported to the operator when another process has it
 * @throws {DataFolderInUseError} or {FileError}
 */
export async function lockFolder(
  folder: string,
  name: string,
  inUse: string,
): Promise<Disposable> {
  const path = join(folder, name);
  let file: Deno.FsFile | undefined;
  let locked: boolean;
  try {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    file = await Deno.open(path, { write: true, create: true, mode: 0o600 });
    locked = await file.tryLock(true);
  } catch (error) {
    file?.close();
    throw toFileError(error, "lock", path);
  }
  if (locked) return { [Symbol.dispose]: () => release(file) };
  file.close();
  throw new DataFolderInUseError(inUse);
}

/** Closing alone would leave it locked while another thread starts a program, which has it as well. */
function release(file: Deno.FsFile): void {
  try {
    file.unlockSync();
  } finally {
    file.close();
  }
}
