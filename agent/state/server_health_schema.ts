import type { Migration } from "../../shared/base/store/sqlite.ts";

/** Whether the server served when it was looked at last, so that a new agent knows what to expect. */
export const serverHealthMigration: Migration = {
  version: 5,
  name: "whether the server served",
  up: "ALTER TABLE server_process ADD COLUMN served INTEGER NOT NULL DEFAULT 0",
};
