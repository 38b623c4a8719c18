import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Results belong to one attempt of a run; those of the attempt that completed last count. */
export const pipelineMigration: Migration = {
  version: 13,
  name: "data pipelines",
  up: `
    CREATE TABLE data_pipelines (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      org_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      stages TEXT NOT NULL,
      schedule TEXT NOT NULL,
      source_type INTEGER NOT NULL,
      enabled INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      deleted_at INTEGER,
      due_from INTEGER NOT NULL,
      backfill INTEGER NOT NULL,
      backfill_from INTEGER,
      backfill_to INTEGER,
      seen_upload INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX data_pipelines_by_name ON data_pipelines (org_id, name)
      WHERE deleted_at IS NULL;

    CREATE TABLE data_pipeline_runs (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      pipeline_seq INTEGER NOT NULL REFERENCES data_pipelines (seq) ON DELETE CASCADE,
      data_from INTEGER NOT NULL,
      data_to INTEGER NOT NULL,
      state TEXT NOT NULL,
      attempt INTEGER NOT NULL,
      result_attempt INTEGER,
      started_at INTEGER,
      ended_at INTEGER,
      error TEXT NOT NULL,
      UNIQUE (pipeline_seq, data_from)
    );
    CREATE INDEX data_pipeline_runs_waiting ON data_pipeline_runs (state, seq)
      WHERE state IN ('scheduled', 'started');

    CREATE TABLE data_pipeline_results (
      run_seq INTEGER NOT NULL REFERENCES data_pipeline_runs (seq) ON DELETE CASCADE,
      attempt INTEGER NOT NULL,
      position INTEGER NOT NULL,
      document BLOB NOT NULL,
      PRIMARY KEY (run_seq, attempt, position)
    ) WITHOUT ROWID;
  `,
};
