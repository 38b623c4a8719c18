import { createHash } from "node:crypto";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { BlobGoneError, type BlobStore } from "../../storage/blobs/blob_store.ts";
import { ArchiveFile } from "./archive_file.ts";

/** Bytes of files that stay in memory for who reads on. */
const KEPT_BYTES = 64 * 1024 * 1024;

/** A file of the catalogue. */
export interface FileName {
  readonly id: string;
  readonly sha256: string;
}

/** A file is gone: it was replaced since the catalogue was read, or is lost. */
export class ArchiveGoneError extends Error {
  override readonly name = "ArchiveGoneError";
}

/** A file is not what was written. Says which, and what to do. */
export class ArchiveDamagedError extends Error {
  override readonly name = "ArchiveDamagedError";

  /** @param id of the file */
  constructor(readonly id: string, problem: string) {
    super(`the file ${id} of old readings ${problem}`);
  }
}

/** Reads files of readings, and keeps the last ones in memory. */
export class ArchiveFiles {
  readonly #kept = new Map<string, ArchiveFile>();
  readonly #opening = new Map<string, Promise<ArchiveFile>>();
  #keptBytes = 0;

  constructor(private readonly blobs: Pick<BlobStore, "read">) {}

  /** @throws {ArchiveGoneError}, {ArchiveDamagedError}, {FileError}, {BlobStorageError} */
  async open(name: FileName): Promise<ArchiveFile> {
    const { id } = name;
    const kept = this.#kept.get(id);
    if (kept) {
      this.#kept.delete(id);
      this.#kept.set(id, kept);
      return kept;
    }
    const opening = this.#opening.get(id);
    if (opening) return await opening;
    const opened = this.#open(name).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opened);
    return await opened;
  }

  async #open({ id, sha256 }: FileName): Promise<ArchiveFile> {
    const bytes = await readWhole(this.blobs, id).catch((error) => {
      throw error instanceof BlobGoneError ? gone(id, { cause: error }) : error;
    });
    if (createHash("sha256").update(bytes).digest("hex") !== sha256) {
      throw new ArchiveDamagedError(id, "is damaged: restore a backup");
    }
    try {
      return this.#keep(id, await ArchiveFile.open(bytes));
    } catch (error) {
      const problem = toError(error).message;
      throw new ArchiveDamagedError(id, `cannot be read: ${problem}`);
    }
  }

  #keep(id: string, file: ArchiveFile): ArchiveFile {
    this.#kept.set(id, file);
    this.#keptBytes += file.size;
    for (const [oldest, { size }] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES) break;
      this.#kept.delete(oldest);
      this.#keptBytes -= size;
    }
    return file;
  }
}

async function readWhole(
  blobs: Pick<BlobStore, "read">,
  id: string,
): Promise<Uint8Array<ArrayBuffer>> {
  using reader = await blobs.read(id);
  if (!reader) throw gone(id);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const piece = new Uint8Array(256 * 1024);
    const count = await reader.read(piece);
    if (count === null) break;
    pieces.push(piece.subarray(0, count));
    length += count;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function gone(id: string, options?: ErrorOptions): ArchiveGoneError {
  return new ArchiveGoneError(
    `the file ${id} of old readings is not there; where files are in an object storage, name it ` +
      "with --blob-store, else restore a backup",
    options,
  );
}
