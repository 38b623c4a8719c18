/** The files of full-time data capture: one is written, older ones are kept up to a number. */
import { join } from "node:path";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";

/** Bounds of what capture keeps on disk; the reference server's figures, machine-server.md §6.5. */
export interface FileLimits {
  /** A file that has reached this is closed and the next one begun. Bytes. */
  readonly maxBytes: number;
  /** Files in the folder, the one being written included; the oldest go. */
  readonly maxFiles: number;
  /** Every so many writes are forced to the disk. */
  readonly syncEvery: number;
}

export const DEFAULT_FILE_LIMITS: FileLimits = {
  maxBytes: 10_000_000,
  maxFiles: 20,
  syncEvery: 30,
};

const NAME = /^machine-server-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?\.ftdc$/;

/** Writes into the newest file of a folder of its own. One write at a time. */
export class CaptureFiles {
  #open: { file: Deno.FsFile; path: string; bytes: number; writes: number } | undefined;

  constructor(
    private readonly folder: string,
    private readonly limits: FileLimits = DEFAULT_FILE_LIMITS,
  ) {}

  /** The file being written; undefined when the next write begins one. */
  get path(): string | undefined {
    return this.#open?.path;
  }

  /**
   * Begins a file named by `now` and removes the oldest ones above the limit.
   *
   * @throws {FileError}
   */
  async begin(now: Date): Promise<void> {
    await this.close();
    try {
      await Deno.mkdir(this.folder, { recursive: true, mode: 0o700 });
      this.#open = { ...await this.#create(now), bytes: 0, writes: 0 };
      await this.#removeOld();
    } catch (error) {
      throw toFileError(error, "write diagnostics into", this.folder);
    }
  }

  /**
   * Appends one sample whole.
   *
   * @returns false when the file is full: the next sample needs a new one.
   * @throws {FileError}; the file is then closed.
   */
  async append(bytes: Uint8Array): Promise<boolean> {
    const open = this.#open;
    if (!open) return false;
    try {
      for (let at = 0; at < bytes.length;) at += await open.file.write(bytes.subarray(at));
      open.bytes += bytes.length;
      if (++open.writes % this.limits.syncEvery === 0) await open.file.syncData();
    } catch (error) {
      this.#release();
      throw toFileError(error, "write diagnostics into", open.path);
    }
    if (open.bytes >= this.limits.maxBytes) await this.close();
    return this.#open !== undefined;
  }

  /** Forces what was written to the disk and closes the file. Never throws. */
  async close(): Promise<void> {
    const open = this.#open;
    if (!open) return;
    try {
      await open.file.syncData();
    } catch {
      // It is as much on the disk as the system could bring there.
    }
    this.#release();
  }

  #release(): void {
    this.#open?.file.close();
    this.#open = undefined;
  }

  /** Two files of one second get different names. */
  async #create(now: Date): Promise<{ file: Deno.FsFile; path: string }> {
    const stamp = now.toISOString().slice(0, 19).replaceAll(":", "-");
    for (let attempt = 0;; attempt++) {
      const path = join(
        this.folder,
        `machine-server-${stamp}Z${attempt === 0 ? "" : `-${attempt}`}.ftdc`,
      );
      try {
        return { path, file: await Deno.open(path, { write: true, createNew: true, mode: 0o600 }) };
      } catch (error) {
        if (fsErrorCode(error) !== "EEXIST" || attempt >= this.limits.maxFiles) throw error;
      }
    }
  }

  async #removeOld(): Promise<void> {
    const names = await captureFilesIn(this.folder);
    for (const name of names.slice(0, Math.max(0, names.length - this.limits.maxFiles))) {
      await Deno.remove(join(this.folder, name));
    }
  }
}

/**
 * Names of the files of captures, oldest first; the last one may be being written. None when there
 * is no such folder.
 */
export async function captureFilesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder)))
      .filter(({ name, isFile }) => isFile && NAME.test(name))
      .map(({ name }) => name)
      .sort(byAge);
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** By the time in the name, then by the number after it. */
function byAge(a: string, b: string): number {
  const order = (name: string) => {
    const [, stamp = "", number = "0"] = /^(.*Z)(?:-(\d+))?\.ftdc$/.exec(name) ?? [];
    return { stamp, number: Number(number) };
  };
  const [x, y] = [order(a), order(b)];
  return x.stamp < y.stamp ? -1 : x.stamp > y.stamp ? 1 : x.number - y.number;
}

/** When a file was begun, by its name: since 1970, milliseconds, to the second. */
export function timeOfFile(name: string): number {
  const [, day = "", time = ""] = /(\d{4}-\d\d-\d\d)T(\d\d-\d\d-\d\d)Z/.exec(name) ?? [];
  return Date.parse(`${day}T${time.replaceAll("-", ":")}Z`);
}
