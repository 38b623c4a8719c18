import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Which versions of our programs a part has had. */
export const versionMigration: Migration = {
  version: 17,
  name: "history of installed versions",
  up: `
    CREATE TABLE part_versions (
      seq INTEGER PRIMARY KEY,
      part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
      program TEXT NOT NULL,
      version TEXT NOT NULL,
      previous TEXT NOT NULL,
      at INTEGER NOT NULL,
      rollback_reason TEXT
    );
    CREATE INDEX part_versions_by_part ON part_versions (part_id, program, seq);
  `,
};
