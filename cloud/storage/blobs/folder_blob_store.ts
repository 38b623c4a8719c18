import { createHash } from "node:crypto";
import { join } from "node:path";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { Crc32c } from "../../../shared/base/files/crc32c.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import { type Blob, type BlobStore, BlobTooLargeError, ORPHAN_AFTER_MS } from "./blob_store.ts";

const ID = /^[0-9a-f-]{36}$/;

/**
 * Blobs in a folder. One is written next to the others, brought to the disk and then renamed, so it
 * is there whole or not at all.
 */
export class FolderBlobStore implements BlobStore {
  readonly #underWay = new Set<string>();

  private constructor(private readonly folder: string, private readonly incoming: string) {}

  /** Opens the folder, or makes it for its owner only. @throws {FileError} */
  static async open(folder: string): Promise<FolderBlobStore> {
    const incoming = join(folder, "incoming");
    try {
      await Deno.mkdir(incoming, { recursive: true, mode: 0o700 });
      await syncFolder(join(folder, ".."));
    } catch (error) {
      throw toFileError(error, "create the folder for uploads", folder);
    }
    return new FolderBlobStore(folder, incoming);
  }

  /** @throws {FileError} besides; when it ends with an error nothing is left. */
  async receive(
    id: string,
    contents: AsyncIterable<Uint8Array>,
    limitBytes: number,
  ): Promise<Blob> {
    this.#underWay.add(id);
    try {
      return await this.#receive(id, contents, limitBytes);
    } finally {
      this.#underWay.delete(id);
    }
  }

  async #receive(
    id: string,
    contents: AsyncIterable<Uint8Array>,
    limitBytes: number,
  ): Promise<Blob> {
    const temporary = join(this.incoming, id);
    const sha256 = createHash("sha256");
    const crc32c = new Crc32c();
    let size = 0;
    let file: Deno.FsFile | undefined;
    try {
      const opened = await this.#disk(() => Deno.open(temporary, OPEN), "write", temporary);
      file = opened;
      for await (const bytes of contents) {
        size += bytes.length;
        if (size > limitBytes) throw new BlobTooLargeError();
        sha256.update(bytes);
        crc32c.update(bytes);
        await this.#disk(() => writeAll(opened, bytes), "write", temporary);
        faultPoint("packages.blob.writing");
      }
      await this.#disk(() => opened.sync(), "write", temporary);
      opened.close();
      file = undefined;
      faultPoint("packages.blob.before-rename");
      await this.#disk(() => Deno.rename(temporary, this.#path(id)), "write", this.#path(id));
      await this.#disk(() => syncFolder(this.folder), "write", this.folder);
      faultPoint("packages.blob.after-rename");
    } catch (error) {
      file?.close();
      await tryRemove(temporary);
      throw error;
    }
    return { id, size, sha256: sha256.digest("hex"), crc32c: crc32c.toBase64() };
  }

  async read(id: string): Promise<Deno.FsFile | undefined> {
    try {
      return await Deno.open(this.#path(id), { read: true });
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return undefined;
      throw toFileError(error, "read", this.#path(id));
    }
  }

  /** One that is open elsewhere goes at the next sweep where it cannot go now. */
  async remove(id: string): Promise<void> {
    await tryRemove(this.#path(id));
  }

  /** All that are there. */
  async *ids(): AsyncIterable<string> {
    for await (const entry of Deno.readDir(this.folder)) {
      if (entry.isFile && ID.test(entry.name)) yield entry.name;
    }
  }

  async sweep(isKnown: (id: string) => Promise<boolean>, now: Date): Promise<number> {
    let removed = 0;
    for (const folder of [this.incoming, this.folder]) {
      for await (const entry of Deno.readDir(folder)) {
        if (!entry.isFile || !ID.test(entry.name) || this.#underWay.has(entry.name)) continue;
        const path = join(folder, entry.name);
        const { mtime } = await Deno.stat(path);
        if (now.getTime() - (mtime?.getTime() ?? 0) < ORPHAN_AFTER_MS) continue;
        if (folder === this.folder && await isKnown(entry.name)) continue;
        await tryRemove(path);
        removed++;
      }
    }
    return removed;
  }

  #path(id: string): string {
    return join(this.folder, id);
  }

  /** Distinguishes what the disk refused from what the sender did. */
  async #disk<T>(work: () => T | Promise<T>, action: string, path: string): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toFileError(error, action, path);
    }
  }
}

/** Exports are tried again under their id: what a killed attempt left is written over. */
const OPEN: Deno.OpenOptions = { write: true, create: true, truncate: true, mode: 0o600 };

/** Removes a file where that can be done now. */
async function tryRemove(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch {
    // It is gone, or is open on a system that then keeps it: the next sweep removes it.
  }
}
