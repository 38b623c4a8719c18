/** A file that is stored, whole. */
export interface Blob {
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** Base64 of the four bytes, most significant first. */
  readonly crc32c: string;
}

/** A blob that is open for reading, from its start or from where it was to start; close it. */
export interface BlobReader extends Disposable {
  /** Reads some bytes. @returns how many; null at the end. */
  read(into: Uint8Array): Promise<number | null>;
  /** Goes to a byte; before anything is read. */
  seek(offset: number, from: Deno.SeekMode.Start): Promise<number>;
  /** What is left as a stream, which closes the blob when it ends. */
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  close(): void;
}

/**
 * Large files by id, whole or not at all. The row that names a blob is written after it; what a
 * killed upload leaves is removed by {@link BlobStore.sweep}. There is one in a folder and one in
 * an object storage.
 */
export interface BlobStore {
  /**
   * Stores what comes, with a bounded amount of memory: when this resolves it survives a power
   * cut; when it throws nothing is left.
   *
   * @throws {BlobTooLargeError} for more than the limit, {FileError}, {BlobStorageError}, or what
   * `contents` throws.
   */
  receive(id: string, contents: AsyncIterable<Uint8Array>, limitBytes: number): Promise<Blob>;
  /** Opens a blob; undefined when it is not there. @throws {FileError}, {BlobStorageError} */
  read(id: string): Promise<BlobReader | undefined>;
  /** Removes a blob, now or at the next sweep. */
  remove(id: string): Promise<void>;
  /** Removes what no row names and no upload writes to any more. @returns how many files. */
  sweep(isKnown: (id: string) => Promise<boolean>, now: Date): Promise<number>;
}

/** More came than one blob may have. */
export class BlobTooLargeError extends Error {
  override readonly name = "BlobTooLargeError";
}

/** A storage of objects that is away, or does not do what it is asked. Says what and why. */
export class BlobStorageError extends Error {
  override readonly name = "BlobStorageError";
}

/** A blob was removed while it was read. */
export class BlobGoneError extends BlobStorageError {}

/** Blobs without a row that are younger may belong to an upload that is under way, milliseconds. */
export const ORPHAN_AFTER_MS = 60 * 60_000;
