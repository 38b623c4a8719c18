import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** What the attributes of modules' models may be in each version. */
export const versionSchemaMigration: Migration = {
  version: 20,
  name: "schemas of modules' models by version",
  up: `
    CREATE TABLE version_schemas (
      item_id TEXT NOT NULL REFERENCES registry_items (id) ON DELETE CASCADE,
      version TEXT NOT NULL,
      api TEXT NOT NULL,
      model TEXT NOT NULL,
      schema TEXT NOT NULL,
      PRIMARY KEY (item_id, version, api, model)
    ) WITHOUT ROWID;
  `,
};
