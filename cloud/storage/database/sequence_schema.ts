import type { ColumnType, Generated } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Microseconds since 1970. */
type TimeUs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** A span of time of some resources of one part. It holds no data: that may go before it does. */
export interface SequencesTable {
  /** Their order. */
  seq: Generated<number>;
  id: Fixed<string>;
  org_id: Fixed<string>;
  location_id: Fixed<string>;
  machine_id: Fixed<string>;
  /** The part may be gone; its data stays. */
  part_id: Fixed<string>;
  start_us: TimeUs;
  /** Does not belong to the span. */
  end_us: TimeUs;
  /** JSON list of `{"resource": …, "method": …}`; an empty method stands for all of the resource. */
  resources: string;
  /** JSON list of texts. */
  tags: string;
  created_at: Fixed<TimeMs>;
  updated_at: TimeMs;
}

export interface DatasetSequencesTable {
  dataset_id: Fixed<string>;
  sequence_id: Fixed<string>;
}

/** One export of a dataset of sequences. Its id is also that of the archive. */
export interface SequenceExportsTable {
  seq: Generated<number>;
  id: Fixed<string>;
  org_id: Fixed<string>;
  dataset_id: Fixed<string>;
  state: "running" | "completed" | "failed";
  /** For people; empty while nothing went wrong. */
  error: string;
  /** Bytes; 0 before it has completed. */
  size: number;
  /** Hexadecimal. */
  sha256: string;
  created_at: Fixed<TimeMs>;
  completed_at: TimeMs | null;
}

/** A query in MQL under a name. */
export interface SavedQueriesTable {
  seq: Generated<number>;
  id: Fixed<string>;
  org_id: Fixed<string>;
  /** Unique in the organisation. */
  name: string;
  /** JSON list of stages, each BSON in base64. */
  stages: string;
  created_at: Fixed<TimeMs>;
  updated_at: TimeMs;
}

/** The tables of sequences and saved queries. */
export interface SequenceTables {
  sequences: SequencesTable;
  dataset_sequences: DatasetSequencesTable;
  sequence_exports: SequenceExportsTable;
  saved_queries: SavedQueriesTable;
}
