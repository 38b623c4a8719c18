import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Which secrets of parts were used by a server that needs no secret of its location in clear. */
export const secretMigration: Migration = {
  version: 9,
  name: "secrets of servers that take hashes",
  up: "ALTER TABLE part_secrets ADD COLUMN takes_hashes INTEGER NOT NULL DEFAULT 0;",
};
