/** A file that is stored, whole. */
export interface StoredFile {
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/**
 * Where the bytes of files are kept; the database keeps all else. {@link BlobStore} is one in a
 * folder; a store of objects elsewhere can take its place.
 */
export interface FileStore {
  /**
   * Stores what comes: when this resolves it survives a power cut; when it throws nothing is left.
   *
   * @throws {BlobTooLargeError} for more than the limit, {FileError}, or what `contents` throws.
   */
  receive(
    id: string,
    contents: AsyncIterable<Uint8Array>,
    limitBytes: number,
  ): Promise<StoredFile>;
  /** Opens a file for reading; undefined when it is not there. Close it. */
  read(id: string): Promise<Deno.FsFile | undefined>;
  /** Removes a file, now or at the next sweep. */
  remove(id: string): Promise<void>;
  /** Removes what no row names and no upload writes to any more. @returns how many files. */
  sweep(isKnown: (id: string) => Promise<boolean>, now: Date): Promise<number>;
}
