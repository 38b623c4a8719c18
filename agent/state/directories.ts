import { join } from "node:path";
import { removeStaleTemps } from "../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";

/** Where the agent keeps its things. All paths are absolute. */
export interface Directories {
  readonly root: string;
  /** Links to the programs in use. */
  readonly bin: string;
  /** Downloaded versions. */
  readonly cache: string;
  readonly tmp: string;
  readonly etc: string;
  /** State that must survive: settings of the cloud, versions, the running server. */
  readonly database: string;
  /** Log lines that wait for the cloud. */
  readonly logQueue: string;
  readonly lock: string;
}

export function directoriesOf(root: string): Directories {
  return {
    root,
    bin: join(root, "bin"),
    cache: join(root, "cache"),
    tmp: join(root, "tmp"),
    etc: join(root, "etc"),
    database: join(root, "agent.db"),
    logQueue: join(root, "agent-logs.db"),
    lock: join(root, "agent.lock"),
  };
}

/**
 * Makes the folders that are missing and removes what killed writers left.
 *
 * @throws {FileError}
 */
export async function prepareDirectories(directories: Directories): Promise<void> {
  const { root, bin, cache, tmp, etc } = directories;
  for (const folder of [root, bin, cache, tmp, etc]) {
    try {
      await Deno.mkdir(folder, { recursive: true, mode: 0o755 });
    } catch (error) {
      throw toFileError(error, "create the folder", folder);
    }
  }
  for (const folder of [root, bin]) await removeStaleTemps(folder);
}
