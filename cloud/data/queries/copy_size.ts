import type { Database } from "../../../shared/base/store/sqlite.ts";
import { DiskFullError, TooManyReadingsError } from "./copy_errors.ts";

export const PAGE_BYTES = 4096;
/** What one batch may add, with its indexes; one of long rows adds more. */
const MOST_BATCH_BYTES = 8 * 1024 ** 2;
/** Most bytes that a character of a batch adds. */
const BYTES_A_CHARACTER = 4;

/** What may be copied for one query at most. */
export interface CopyBounds {
  readonly rows: number;
  /** Of the disk. */
  readonly bytes: number;
}

/** How large a copy is and becomes: distinguishes its own bound from a full disk. */
export class CopySize {
  #bytes = 0;
  #batchBytes = MOST_BATCH_BYTES;

  constructor(private readonly database: Database, private readonly bounds: CopyBounds) {}

  /** Called before a batch of so many characters is copied. */
  next(characters: number): void {
    this.#bytes = PAGE_BYTES * Number(this.database.pragma("page_count", { simple: true }));
    this.#batchBytes = 0;
    this.longer(characters);
  }

  /** The batch has at least so many characters. */
  longer(characters: number): void {
    const bytes = Math.max(MOST_BATCH_BYTES, BYTES_A_CHARACTER * characters);
    this.#batchBytes = Math.max(this.#batchBytes, bytes);
  }

  /** What went wrong when copying failed. */
  failure(error: unknown): unknown {
    if ((error as { code?: string }).code !== "SQLITE_FULL") return error;
    // SQLite says the same of its own bound and of the disk.
    return this.#bytes + this.#batchBytes >= this.bounds.bytes
      ? new TooManyReadingsError()
      : new DiskFullError({ cause: error });
  }
}
