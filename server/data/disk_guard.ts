/** Keeps captured data from filling the disk. */
import { statfs } from "node:fs/promises";
import { removeIfExists } from "../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../shared/base/files/fs_error.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { filesBelow, isCapture } from "./capture_folder.ts";

/** Size and use of a file system. Bytes. */
export interface DiskUse {
  readonly totalBytes: number;
  readonly usedBytes: number;
}

export interface DiskGuardOptions {
  readonly folders: () => readonly string[];
  /** Share of the file system in use from which on files are deleted, 0 to 1. */
  readonly diskThreshold: number;
  /** Share of the file system that captured data has then at least, 0 to 1. */
  readonly captureThreshold: number;
  /** One file of so many is deleted. */
  readonly everyNth: number;
  readonly log: Logger;
  /** Default: queries the system. */
  readonly diskUse?: (path: string) => Promise<DiskUse>;
}

export class DiskGuard {
  #hasWarned = false;

  constructor(private readonly options: DiskGuardOptions) {}

  /**
   * Looks once; deletes every Nth complete capture file when the disk and the captured data on it
   * are above their thresholds.
   *
   * @returns how many files were deleted
   */
  async look(): Promise<number> {
    let deleted = 0;
    for (const folder of this.options.folders()) deleted += await this.#lookAt(folder);
    return deleted;
  }

  async #lookAt(folder: string): Promise<number> {
    const { diskThreshold, captureThreshold, everyNth, log, diskUse = useOf } = this.options;
    const { totalBytes, usedBytes } = await diskUse(folder);
    if (totalBytes === 0 || usedBytes / totalBytes < diskThreshold) {
      this.#hasWarned = false;
      return 0;
    }
    let capturedBytes = 0;
    const captures: string[] = [];
    for await (const { path, bytes } of filesBelow(folder)) {
      capturedBytes += bytes;
      if (isCapture(path)) captures.push(path);
    }
    const percent = Math.round(usedBytes / totalBytes * 100);
    if (capturedBytes / totalBytes < captureThreshold) {
      if (!this.#hasWarned) {
        log.warn(`the disk is ${percent} % full, and not with captured data; free some space`, {
          event: "disk_full",
          folder,
          capturedBytes,
        });
      }
      this.#hasWarned = true;
      return 0;
    }
    const chosen = captures.filter((_, index) => index % everyNth === 0);
    for (const path of chosen) await removeIfExists(path);
    log.warn(`the disk is ${percent} % full: captured files are deleted before their upload`, {
      event: "captured_data_deleted",
      folder,
      deleted: chosen.length,
      kept: captures.length - chosen.length,
    });
    return chosen.length;
  }
}

/** Nothing where the folder is not there yet. */
async function useOf(path: string): Promise<DiskUse> {
  try {
    const { bsize, blocks, bavail } = await statfs(path);
    return { totalBytes: bsize * blocks, usedBytes: bsize * (blocks - bavail) };
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return { totalBytes: 0, usedBytes: 0 };
    throw toFileError(error, "look at the disk of", path);
  }
}
