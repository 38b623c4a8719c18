import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Where machines are, by the newest reading of a movement sensor of theirs. */
export const positionMigration: Migration = {
  version: 25,
  name: "captured positions",
  up: `
    CREATE TABLE machine_positions (
      machine_id TEXT PRIMARY KEY REFERENCES machines (id) ON DELETE CASCADE,
      source_id INTEGER NOT NULL,
      received_us INTEGER NOT NULL,
      synced_at INTEGER NOT NULL,
      latitude REAL NOT NULL,
      longitude REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX machine_positions_by_source ON machine_positions (source_id);
  `,
};
