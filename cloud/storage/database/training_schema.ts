import type { ColumnType, Generated } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** Where a training job stands; the transitions are in `cloud/training/jobs/job_states.ts`. */
export type TrainingState =
  | "pending"
  | "in_progress"
  | "completed"
  | "failed"
  | "canceling"
  | "canceled";

/** One training job. Rows are queued in the order of `seq`. */
export interface TrainingJobsTable {
  seq: Generated<number>;
  id: Fixed<string>;
  org_id: Fixed<string>;
  /** The dataset may be gone; the job stays. */
  dataset_id: Fixed<string>;
  kind: Fixed<"managed" | "custom">;
  model_name: Fixed<string>;
  model_version: Fixed<string>;
  /** Number of `viam.app.mltraining.v1.ModelType`. */
  model_type: Fixed<number>;
  /** Number of `viam.app.mltraining.v1.ModelFramework`. */
  model_framework: Fixed<number>;
  /** `namespace:name` of a custom job's script, as it was given; empty for a managed one. */
  registry_item_id: Fixed<string>;
  registry_item_version: Fixed<string>;
  /** Empty: the default. */
  container_version: Fixed<string>;
  /** JSON object of texts. */
  arguments: Fixed<string>;
  /** JSON list of texts: the labels to train on; of managed jobs. */
  tags: Fixed<string>;
  /** Who submitted it, as the history of configurations names callers. */
  submitted_by: Fixed<string>;
  /** Who canceled it; null: nobody. */
  canceled_by: string | null;
  state: TrainingState;
  /** How often it was started. */
  attempts: number;
  /** The key that the run calls back with; null while there is none. */
  key_id: string | null;
  /** Number of a gRPC code and the reason, when it failed or was canceled. */
  error_code: number | null;
  error_message: string;
  /** `ORG/NAME` of the package that came out; empty until then. */
  package_id: string;
  /** JSON object of numbers that the script reported. */
  metrics: string;
  created_at: Fixed<TimeMs>;
  updated_at: TimeMs;
  started_at: TimeMs | null;
  ended_at: TimeMs | null;
}

/** One line of a job's output. */
export interface TrainingLogsTable {
  job_seq: Fixed<number>;
  /** 1, 2, 3 … within the job. */
  number: Fixed<number>;
  time_ms: Fixed<TimeMs>;
  level: Fixed<"debug" | "info" | "warn" | "error">;
  message: Fixed<string>;
}

export interface TrainingTables {
  training_jobs: TrainingJobsTable;
  training_logs: TrainingLogsTable;
}
