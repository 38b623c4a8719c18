/** What the archive of a module, or of a training script, holds. */
export interface ModuleArchive {
  /** Paths of its files and links, from its root, without `./`. */
  readonly files: ReadonlySet<string>;
  /** Text of `meta.json` at its root; undefined when there is none. */
  readonly meta: string | undefined;
  /** Texts of the files that were requested, by path; those that are not there are left out. */
  readonly texts: ReadonlyMap<string, string>;
}

/** The archive cannot be used as what it is uploaded as; the message says why and what to do. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

/** Where an archive says what it is. */
export const META_FILE = "meta.json";
/** Files of an archive that are looked into have at most so many bytes. */
export const LARGEST_TEXT = 1024 * 1024;
/** What the servers of machines unpack at most. */
export const MOST_ENTRIES = 200_000;
