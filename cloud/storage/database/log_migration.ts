import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** The log lines of machines on PostgreSQL; with SQLite they are in a database of their own. */
export const logMigration: Migration = {
  version: 23,
  name: "log lines in the database",
  up: "SELECT 1",
};
