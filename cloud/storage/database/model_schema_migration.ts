import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** What the attributes of modules' models may be. */
export const modelSchemaMigration: Migration = {
  version: 19,
  name: "schemas of modules' models",
  up: `
    CREATE TABLE model_schemas (
      item_id TEXT NOT NULL REFERENCES registry_items (id) ON DELETE CASCADE,
      api TEXT NOT NULL,
      model TEXT NOT NULL,
      schema TEXT NOT NULL,
      PRIMARY KEY (item_id, api, model)
    ) WITHOUT ROWID;
  `,
};
