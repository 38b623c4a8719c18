import type { Migration } from "../../shared/base/store/sqlite.ts";

/** What agent/cloud/reporting keeps against being taken back to old releases. */
export const lowestVersionsMigration: Migration = {
  version: 6,
  name: "the lowest version of each program that is installed",
  up: `
    CREATE TABLE lowest_version (
      program TEXT PRIMARY KEY,
      version TEXT NOT NULL,
      -- What was in use when a person allowed less; as long as it is, it raises nothing.
      allowed_below TEXT NOT NULL,
      since TEXT NOT NULL
    ) STRICT;
  `,
};
