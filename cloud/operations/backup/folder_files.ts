/** Which files of a data folder belong to a backup. */
import { join } from "node:path";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import { ADDRESS_FILE } from "../../storage/data_folder/database_choice.ts";

/** Copied by SQLite itself. */
export const DATABASES = ["cloud.db", "logs.db"] as const;

function isDatabase(path: string): boolean {
  return DATABASES.some((database) => database === path);
}

/** Made again where they are missing, or of use to a running program only. */
const LEFT_OUT =
  /^(incoming|training|training-runs|training-environments|better_sqlite3\.node|(cloud|logs)\.db\.moved)$/;
const TEMPORARY = /^\.|\.(lock|tmp|unfinished)$|-(wal|shm|journal)$/;

/**
 * The files of a data folder, each as its path from there with `/`, next to the databases. What is
 * removed meanwhile is left out.
 */
export async function* filesToKeep(dataDir: string, folder = ""): AsyncGenerator<string> {
  let entries: Deno.DirEntry[];
  try {
    entries = await Array.fromAsync(Deno.readDir(join(dataDir, folder)));
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT" && folder !== "") return;
    throw error;
  }
  for (const { name, isFile, isDirectory } of entries) {
    if (LEFT_OUT.test(name) || TEMPORARY.test(name)) continue;
    const path = folder === "" ? name : `${folder}/${name}`;
    if (isDirectory) yield* filesToKeep(dataDir, path);
    else if (isFile && path !== ADDRESS_FILE && !isDatabase(path)) yield path;
  }
}
