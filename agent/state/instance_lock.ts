import { toFileError } from "../../shared/base/files/fs_error.ts";

/** Another agent works in the same folder. */
export class LockedError extends Error {
  override readonly name = "LockedError";
}

/**
 * Lets only one agent work in a folder. The lock belongs to the open file, so the system gives it
 * up with the process however that ends; the number in the file is for people only. Nobody else
 * may open the file: who can read it can lock it, and would keep every agent from its start.
 */
export class InstanceLock {
  readonly #file: Deno.FsFile;

  private constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  /**
   * @throws {LockedError} when another process has it.
   * @throws {FileError} when the file cannot be made.
   */
  static take(path: string): InstanceLock {
    const file = open(path);
    try {
      if (!file.tryLockSync(true)) throw new LockedError(lockedMessage(path));
      file.truncateSync();
      file.writeSync(new TextEncoder().encode(`${Deno.pid}\n`));
      return new InstanceLock(file);
    } catch (error) {
      file.close();
      throw error instanceof LockedError ? error : toFileError(error, "lock", path);
    }
  }

  /** Closing alone would leave it locked while another thread starts a program, which has it, too. */
  release(): void {
    try {
      this.#file.unlockSync();
    } finally {
      this.#file.close();
    }
  }
}

function open(path: string): Deno.FsFile {
  try {
    const file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
    // One of an earlier version.
    if (Deno.build.os !== "windows") Deno.chmodSync(path, 0o600);
    return file;
  } catch (error) {
    throw toFileError(error, "lock", path);
  }
}

function lockedMessage(path: string): string {
  return `another machine-agent${holder(path)} works in this folder (${path}); ` +
    "stop it first, or give this one a folder of its own with --dir";
}

function holder(path: string): string {
  try {
    const pid = Deno.readTextFileSync(path).trim();
    return /^\d+$/.test(pid) ? `, process ${pid},` : "";
  } catch {
    return ""; // Windows lets nobody read a locked file.
  }
}
