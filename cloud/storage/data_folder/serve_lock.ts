import { join } from "node:path";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { makeDataFolder } from "./data_folder.ts";

/** Another process serves this data folder. */
export class DataFolderInUseError extends Error {
  override readonly name = "DataFolderInUseError";
}

/**
 * Takes a data folder, made when it is not there, for the one process that serves it: two would
 * each keep who is online and who listens for itself. The system gives the lock back when the
 * process ends, however it ends; the file `serve.lock` stays.
 *
 * @throws {DataFolderInUseError} or {FileError}, each with one line for the operator.
 */
export async function lockForServing(dataDir: string): Promise<Disposable> {
  await makeDataFolder(dataDir);
  const path = join(dataDir, "serve.lock");
  let file: Deno.FsFile | undefined;
  let locked: boolean;
  try {
    file = await Deno.open(path, { write: true, create: true, mode: 0o600 });
    locked = await file.tryLock(true);
  } catch (error) {
    file?.close();
    throw toFileError(error, "lock", path);
  }
  if (locked) return file;
  file.close();
  throw new DataFolderInUseError(
    `another "machine-cloud serve" works on ${dataDir}; end that one, or give this one another ` +
      "data folder with --data",
  );
}
