/** What readings that were moved to files can do: see `../archive`. */
import type { Selectable } from "kysely";
import type {
  ArchivedSourcesTable,
  TabularReadingsTable,
} from "../../storage/database/data_schema.ts";
import type { TimeSpan } from "./filters.ts";
import type { ReadingFilter, ReadingPosition, ReadingRow } from "./reading_order.ts";

/** A reading as it lies in the database. */
export type StoredReading = Selectable<TabularReadingsTable>;
/** What a file has of one source. */
export type Piece = Selectable<ArchivedSourcesTable> & { readonly sha256: string };

/** Times of a first and a last reading. */
export interface Ends {
  readonly first: number | undefined;
  readonly last: number | undefined;
}

/** Readings that were moved to files. */
export interface ReadingsArchive {
  /** The first readings of a source behind a position, in the order of the filter. */
  slice(
    sourceId: number,
    filter: ReadingFilter,
    limit: number,
    after?: ReadingPosition,
  ): Promise<ReadingRow[]>;
  /** The times of the first and the last reading within a span. */
  firstAndLast(sourceId: number, span: TimeSpan): Promise<Ends>;
  /**
   * Does something with the readings of a source, those in the database and those in files: when
   * some of them are moved meanwhile, it is done again; TRY_LATER when that does not end.
   *
   * @param work is given what files have of the source within the span
   */
  steady<T>(
    sourceId: number,
    span: TimeSpan,
    work: (pieces: readonly Piece[]) => Promise<T>,
  ): Promise<T>;
  /** Those of some sources of which files have something within a span, and perhaps beyond it. */
  among(sourceIds: readonly number[], span: TimeSpan): Promise<number[]>;
  /** The readings that a piece has within a span, whatever their tags, group by group. */
  groups(piece: Piece, filter: ReadingFilter): AsyncIterable<StoredReading[]>;
  /** How many readings of a piece a filter picks, and how many bytes they have. */
  count(piece: Piece, filter: ReadingFilter): Promise<{ count: number; bytes: number }>;
}

/** Deletes readings that were moved to files. */
export interface ArchivedDeletion {
  /** @returns how many were deleted, also when the signal stopped it. */
  delete(
    orgId: string,
    sourceIds: readonly number[],
    filter: ReadingFilter,
    signal?: AbortSignal,
  ): Promise<number>;
  /** Deletes what arrived before a time, some of it up to a day later. @returns how many. */
  arrivedBefore(orgId: string, before: Date, signal?: AbortSignal): Promise<number>;
}

/** What a run moved. */
export interface Archived {
  readonly readings: number;
  readonly files: number;
}

/** Moves readings to files. */
export interface ReadingsMover {
  /** Moves what is old enough; what cannot be moved now is when it is called again. */
  run(signal?: AbortSignal): Promise<Archived>;
  /** Removes files that nothing names any more. @returns how many */
  sweep(now: Date): Promise<number>;
}
