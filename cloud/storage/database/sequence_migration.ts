import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** An export goes with its dataset; the sweep then removes its archive. */
export const sequenceMigration: Migration = {
  version: 7,
  name: "sequences and saved queries",
  up: `
    CREATE TABLE sequences (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      location_id TEXT NOT NULL,
      machine_id TEXT NOT NULL,
      part_id TEXT NOT NULL,
      start_us INTEGER NOT NULL,
      end_us INTEGER NOT NULL,
      resources TEXT NOT NULL,
      tags TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    );
    CREATE INDEX sequences_by_org ON sequences (org_id, seq);

    CREATE TABLE dataset_sequences (
      dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
      sequence_id TEXT NOT NULL REFERENCES sequences (id) ON DELETE CASCADE,
      PRIMARY KEY (dataset_id, sequence_id)
    ) WITHOUT ROWID;
    CREATE INDEX dataset_sequences_by_sequence ON dataset_sequences (sequence_id);

    CREATE TABLE sequence_exports (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
      state TEXT NOT NULL,
      error TEXT NOT NULL,
      size INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      completed_at INTEGER
    );
    CREATE UNIQUE INDEX sequence_exports_running ON sequence_exports (dataset_id)
      WHERE state = 'running';
    CREATE INDEX sequence_exports_by_dataset ON sequence_exports (dataset_id);
    CREATE INDEX sequence_exports_by_end ON sequence_exports (completed_at);

    CREATE TABLE saved_queries (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      name TEXT NOT NULL,
      stages TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      UNIQUE (org_id, name)
    );
  `,
};
