/** The file of a module's program. */
import { describeFsError } from "../../../shared/base/files/fs_error.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";

const ANY_EXECUTE = 0o111;
/** How often the file of a running program is looked at. */
const LOOK_AT_FILE_MS = 10_000;

/**
 * What distinguishes one content of the file from another: another inode, size or time of change.
 *
 * @throws an error that says what is wrong with the file and what to do.
 */
export async function executableIdentity(path: string): Promise<string> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    throw new Error(describeFsError(error, "start", path), { cause: error });
  }
  if (!info.isFile) throw new Error(`cannot start ${path}: it is no file; name the program itself`);
  if (Deno.build.os !== "windows" && ((info.mode ?? 0) & ANY_EXECUTE) === 0) {
    throw new Error(`cannot start ${path}: it may not be executed; allow it with chmod +x`);
  }
  return `${info.dev}:${info.ino}:${info.size}:${info.mtime?.getTime()}`;
}

/** Looks at the file of a running program until it was replaced, once, or the watch is closed. */
export class ExecutableWatch {
  #timer: Timer | undefined;
  #isClosed = false;

  /**
   * @param identity of the file when the program was started.
   * @param onReplaced the file is another one by now, or gone.
   */
  constructor(
    private readonly path: string,
    private readonly identity: string,
    private readonly clock: Clock,
    private readonly onReplaced: () => void,
  ) {
    this.#arm();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.clock.setTimer(LOOK_AT_FILE_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const replaced = await isReplaced(this.path, this.identity);
    if (this.#isClosed) return;
    if (replaced) this.onReplaced();
    else this.#arm();
  }
}

/** True when the file has another content than when it was looked at, or is gone. */
async function isReplaced(path: string, identity: string): Promise<boolean> {
  try {
    return await executableIdentity(path) !== identity;
  } catch {
    return true; // whatever stands there now, it is not what runs
  }
}
