import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Readings are rows that lie in the file by source and time, so that a span is one piece of it. */
export const dataMigration: Migration = {
  version: 5,
  name: "captured data and datasets",
  up: `
    CREATE TABLE data_sources (
      id INTEGER PRIMARY KEY,
      org_id TEXT NOT NULL,
      location_id TEXT NOT NULL,
      machine_id TEXT NOT NULL,
      part_id TEXT NOT NULL,
      machine_name TEXT NOT NULL,
      part_name TEXT NOT NULL,
      component_type TEXT NOT NULL,
      component_name TEXT NOT NULL,
      method_name TEXT NOT NULL,
      UNIQUE (part_id, component_name, method_name, component_type, location_id)
    );
    CREATE INDEX data_sources_by_org ON data_sources (org_id);

    CREATE TABLE data_uploads (
      id INTEGER PRIMARY KEY,
      source_id INTEGER NOT NULL REFERENCES data_sources (id),
      digest TEXT NOT NULL,
      org_id TEXT NOT NULL,
      file_id TEXT NOT NULL,
      synced_at INTEGER NOT NULL,
      min_received_us INTEGER NOT NULL,
      max_received_us INTEGER NOT NULL,
      tags TEXT NOT NULL,
      parameters TEXT NOT NULL,
      UNIQUE (source_id, digest)
    );
    CREATE INDEX data_uploads_by_arrival ON data_uploads (org_id, synced_at);

    CREATE TABLE tabular_readings (
      source_id INTEGER NOT NULL,
      received_us INTEGER NOT NULL,
      upload_id INTEGER NOT NULL,
      position INTEGER NOT NULL,
      requested_us INTEGER NOT NULL,
      data TEXT NOT NULL,
      PRIMARY KEY (source_id, received_us, upload_id, position)
    ) WITHOUT ROWID;

    CREATE TABLE binary_data (
      id TEXT PRIMARY KEY,
      org_id TEXT NOT NULL,
      source_id INTEGER NOT NULL REFERENCES data_sources (id),
      digest TEXT NOT NULL,
      requested_us INTEGER NOT NULL,
      received_us INTEGER NOT NULL,
      synced_at INTEGER NOT NULL,
      file_name TEXT NOT NULL,
      file_extension TEXT NOT NULL,
      mime_type TEXT NOT NULL,
      parameters TEXT NOT NULL,
      size INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      UNIQUE (source_id, digest)
    );
    CREATE INDEX binary_data_in_order ON binary_data (org_id, received_us, id);
    CREATE INDEX binary_data_by_arrival ON binary_data (org_id, synced_at);

    CREATE TABLE binary_tags (
      binary_id TEXT NOT NULL REFERENCES binary_data (id) ON DELETE CASCADE,
      tag TEXT NOT NULL,
      PRIMARY KEY (binary_id, tag)
    ) WITHOUT ROWID;

    CREATE TABLE binary_annotations (
      id TEXT PRIMARY KEY,
      binary_id TEXT NOT NULL REFERENCES binary_data (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      label TEXT NOT NULL,
      confidence REAL,
      x_min REAL NOT NULL,
      y_min REAL NOT NULL,
      x_max REAL NOT NULL,
      y_max REAL NOT NULL
    );
    CREATE INDEX binary_annotations_by_data ON binary_annotations (binary_id, label);

    CREATE TABLE datasets (
      id TEXT PRIMARY KEY,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      UNIQUE (org_id, name)
    );

    CREATE TABLE dataset_files (
      dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
      binary_id TEXT NOT NULL REFERENCES binary_data (id) ON DELETE CASCADE,
      PRIMARY KEY (dataset_id, binary_id)
    ) WITHOUT ROWID;
    CREATE INDEX dataset_files_by_data ON dataset_files (binary_id);

    CREATE TABLE data_settings (
      org_id TEXT PRIMARY KEY REFERENCES organizations (id),
      retention_days INTEGER,
      quota_bytes INTEGER
    ) WITHOUT ROWID;

    CREATE TABLE data_usage (
      org_id TEXT PRIMARY KEY REFERENCES organizations (id),
      readings INTEGER NOT NULL,
      reading_bytes INTEGER NOT NULL,
      files INTEGER NOT NULL,
      file_bytes INTEGER NOT NULL
    ) WITHOUT ROWID;
  `,
};
