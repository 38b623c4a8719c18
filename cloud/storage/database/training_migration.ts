import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** A model's version is taken by a job that is under way or has completed, not by one that failed. */
export const trainingMigration: Migration = {
  version: 6,
  name: "training jobs",
  up: `
    CREATE TABLE training_jobs (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      dataset_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      model_name TEXT NOT NULL,
      model_version TEXT NOT NULL,
      model_type INTEGER NOT NULL,
      model_framework INTEGER NOT NULL,
      registry_item_id TEXT NOT NULL,
      registry_item_version TEXT NOT NULL,
      container_version TEXT NOT NULL,
      arguments TEXT NOT NULL,
      tags TEXT NOT NULL,
      submitted_by TEXT NOT NULL,
      canceled_by TEXT,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      key_id TEXT,
      error_code INTEGER,
      error_message TEXT NOT NULL,
      package_id TEXT NOT NULL,
      metrics TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      started_at INTEGER,
      ended_at INTEGER
    );
    CREATE UNIQUE INDEX training_jobs_by_model ON training_jobs (org_id, model_name, model_version)
      WHERE state NOT IN ('failed', 'canceled');
    CREATE INDEX training_jobs_by_state ON training_jobs (state, seq);
    CREATE INDEX training_jobs_by_org ON training_jobs (org_id, seq);
    CREATE INDEX training_jobs_by_end ON training_jobs (ended_at) WHERE ended_at IS NOT NULL;

    CREATE TABLE training_logs (
      job_seq INTEGER NOT NULL REFERENCES training_jobs (seq) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      time_ms INTEGER NOT NULL,
      level TEXT NOT NULL,
      message TEXT NOT NULL,
      PRIMARY KEY (job_seq, number)
    ) WITHOUT ROWID;
  `,
};
