import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Locations within locations, and those that other organisations use, too. */
export const locationMigration: Migration = {
  version: 12,
  name: "nested and shared locations",
  up: `
    ALTER TABLE locations ADD COLUMN parent_id TEXT REFERENCES locations (id);
    CREATE INDEX locations_by_parent ON locations (parent_id);

    CREATE TABLE location_shares (
      location_id TEXT NOT NULL REFERENCES locations (id) ON DELETE CASCADE,
      org_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      shared_at INTEGER NOT NULL,
      PRIMARY KEY (location_id, org_id)
    ) WITHOUT ROWID;
    CREATE INDEX location_shares_by_org ON location_shares (org_id);
  `,
};
