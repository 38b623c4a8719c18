/** Writes one capture file: `NAME.prog` while it grows, `NAME.capture` when it is whole. */
import { dirname } from "node:path";
import { faultPoint } from "../base/faults/fault_point.ts";
import { syncFolder } from "../base/files/atomic_write.ts";
import { toFileError } from "../base/files/fs_error.ts";

/** Ending of a file that is being written. */
export const IN_PROGRESS = ".prog";
/** Ending of a file that is whole. */
export const COMPLETE = ".capture";

/**
 * An open capture file. What {@link append} returns from outlives the process; what {@link sync}
 * returns from outlives a power cut.
 */
export class CaptureWriter {
  #bytes = 0;
  #synced = 0;
  #isOpen = true;

  private constructor(
    /** Where it is while it grows. */
    readonly path: string,
    private readonly file: Deno.FsFile,
  ) {}

  /**
   * Begins a file with its metadata; makes its folders.
   *
   * @param path without ending
   * @throws {FileError} also when the file is there already: code EEXIST
   */
  static begin(path: string, metadata: Uint8Array): CaptureWriter {
    const growing = path + IN_PROGRESS;
    try {
      Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const file = Deno.openSync(growing, { write: true, createNew: true, mode: 0o600 });
      const writer = new CaptureWriter(growing, file);
      try {
        writer.append(metadata);
      } catch (error) {
        file.close();
        Deno.removeSync(growing);
        throw error;
      }
      return writer;
    } catch (error) {
      throw toFileError(error, "write", growing);
    }
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds whole messages. After an error (a full disk) the file is as it was before. */
  append(frames: Uint8Array): void {
    try {
      for (let written = 0; written < frames.length;) {
        written += this.file.writeSync(frames.subarray(written));
        faultPoint("data.capture.written");
      }
      this.#bytes += frames.length;
    } catch (error) {
      this.file.truncateSync(this.#bytes);
      this.file.seekSync(this.#bytes, Deno.SeekMode.Start);
      throw toFileError(error, "write", this.path);
    }
  }

  /** Makes everything up to now survive a power cut. Others may append meanwhile. */
  async sync(): Promise<void> {
    if (this.#synced === this.#bytes || !this.#isOpen) return;
    const bytes = this.#bytes;
    // A file that an async operation uses takes no synchronous writes, so this is another handle.
    using handle = await Deno.open(this.path, { write: true });
    await handle.syncData();
    this.#synced = Math.max(this.#synced, bytes);
  }

  /** Ends the file: safe on the disk, and under its last name. Nothing may be appended any more. */
  async finish(): Promise<void> {
    if (this.#isOpen) {
      await this.sync();
      this.#isOpen = false;
      this.file.close();
    }
    await completeFile(this.path);
  }
}

/** Gives a file that is whole and synced its last name. */
export async function completeFile(path: string): Promise<void> {
  const complete = path.slice(0, -IN_PROGRESS.length) + COMPLETE;
  try {
    faultPoint("data.capture.before-rename");
    await Deno.rename(path, complete);
    faultPoint("data.capture.after-rename");
    await syncFolder(dirname(path));
  } catch (error) {
    throw toFileError(error, "rename", path);
  }
}
