import type { Migration } from "../../shared/base/store/sqlite.ts";

/** What agent/cloud/reporting keeps. Times are ISO texts in UTC. */
export const cloudWishesMigration: Migration = {
  version: 4,
  name: "release keys, commands that were carried out",
  up: `
    -- Whose signatures count. Keys and signatures are hexadecimal.
    CREATE TABLE release_keys (
      id TEXT PRIMARY KEY,
      public_key TEXT NOT NULL,
      signed_by TEXT NOT NULL,
      signature TEXT NOT NULL,
      learned_at TEXT NOT NULL
    ) STRICT;
    -- Written before a command is carried out, so that none is carried out twice.
    CREATE TABLE carried_out_commands (
      id TEXT PRIMARY KEY,
      at TEXT NOT NULL,
      reported INTEGER NOT NULL DEFAULT 0
    ) STRICT;
  `,
};
