import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Items of the registry, and versions of them, that nobody should begin to use. */
export const deprecationMigration: Migration = {
  version: 16,
  name: "deprecated items and versions, support address",
  up: `
    ALTER TABLE registry_items ADD COLUMN deprecated_at INTEGER;
    ALTER TABLE registry_items ADD COLUMN deprecated_message TEXT NOT NULL DEFAULT '';
    ALTER TABLE item_versions ADD COLUMN deprecated_at INTEGER;
    ALTER TABLE item_versions ADD COLUMN deprecated_message TEXT NOT NULL DEFAULT '';
    ALTER TABLE organizations ADD COLUMN support_email TEXT NOT NULL DEFAULT '';
  `,
};
