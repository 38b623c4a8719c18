import type { Migration } from "../../../shared/base/store/sqlite.ts";

/**
 * Readings that were moved to files: which files there are, what each has of each source, and which
 * were replaced and stay for a while.
 */
export const archiveMigration: Migration = {
  version: 24,
  name: "old readings in files",
  up: `
    ALTER TABLE data_settings ADD COLUMN archive_after_days INTEGER;

    CREATE TABLE archived_files (
      id TEXT PRIMARY KEY,
      org_id TEXT NOT NULL,
      part_id TEXT NOT NULL,
      day INTEGER NOT NULL,
      readings INTEGER NOT NULL,
      reading_bytes INTEGER NOT NULL,
      size INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      min_synced_at INTEGER NOT NULL,
      max_synced_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX archived_files_by_day ON archived_files (org_id, part_id, day);

    CREATE TABLE archived_sources (
      source_id INTEGER NOT NULL,
      day INTEGER NOT NULL,
      file_id TEXT NOT NULL REFERENCES archived_files (id) ON DELETE CASCADE,
      first_row INTEGER NOT NULL,
      readings INTEGER NOT NULL,
      reading_bytes INTEGER NOT NULL,
      min_received_us INTEGER NOT NULL,
      max_received_us INTEGER NOT NULL,
      PRIMARY KEY (source_id, day, file_id)
    ) WITHOUT ROWID;
    CREATE INDEX archived_sources_by_file ON archived_sources (file_id);

    CREATE TABLE replaced_files (
      id TEXT PRIMARY KEY,
      org_id TEXT NOT NULL,
      part_id TEXT NOT NULL,
      day INTEGER NOT NULL,
      at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX replaced_files_by_day ON replaced_files (org_id, part_id, day);
  `,
};
