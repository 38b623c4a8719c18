import type { ColumnType, Generated } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** A query in MQL that runs by a schedule and keeps what it gives. */
export interface DataPipelinesTable {
  seq: Generated<number>;
  id: Fixed<string>;
  org_id: Fixed<string>;
  /** Unique in the organisation. */
  name: string;
  /** JSON list of stages, each BSON in base64. */
  stages: Fixed<string>;
  /** A cron expression in UTC. */
  schedule: Fixed<string>;
  /** The number of a `TabularDataSourceType`. */
  source_type: Fixed<number>;
  /** 0 or 1. */
  enabled: number;
  created_at: Fixed<TimeMs>;
  updated_at: TimeMs;
  /** Since then it is gone for all callers; its rows are being removed. */
  deleted_at: TimeMs | null;
  /** Where the span of the next run by schedule begins. */
  due_from: TimeMs;
  /** 0 or 1: whether it runs over readings from before it was made, too. */
  backfill: Fixed<number>;
  /** The span that is still to be looked through for such readings, newest first; null: none. */
  backfill_from: TimeMs | null;
  /** Does not belong to the span. */
  backfill_to: TimeMs | null;
  /** The newest upload that was looked at for readings that came late. */
  seen_upload: number;
}

export type PipelineRunState = "scheduled" | "started" | "completed" | "failed";

/** One span of time of one pipeline. It runs again when readings of it come late. */
export interface DataPipelineRunsTable {
  seq: Generated<number>;
  id: Fixed<string>;
  pipeline_seq: Fixed<number>;
  data_from: Fixed<TimeMs>;
  /** Does not belong to the span. */
  data_to: Fixed<TimeMs>;
  state: PipelineRunState;
  /** Counts the attempts, also those of earlier runs over the same span. */
  attempt: number;
  /** The attempt whose results count; null: none has completed. */
  result_attempt: number | null;
  started_at: TimeMs | null;
  ended_at: TimeMs | null;
  /** For people; empty while nothing went wrong. */
  error: string;
}

export interface DataPipelineResultsTable {
  run_seq: Fixed<number>;
  attempt: Fixed<number>;
  /** 0, 1, 2 … */
  position: Fixed<number>;
  /** BSON. */
  document: Fixed<Uint8Array>;
}

/** The tables of data pipelines. */
export interface PipelineTables {
  data_pipelines: DataPipelinesTable;
  data_pipeline_runs: DataPipelineRunsTable;
  data_pipeline_results: DataPipelineResultsTable;
}
