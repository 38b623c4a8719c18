import type { Migration } from "../../../shared/base/store/sqlite.ts";

/**
 * Readings in a table for each week: on PostgreSQL only, where a table goes as a whole. In SQLite
 * they lie in one table by source and time.
 */
export const weekMigration: Migration = { version: 26, name: "readings by week", up: "" };
