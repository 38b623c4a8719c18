/** The server's database, `$MACHINE_HOME/server.db`. */
import type { Migration } from "../../shared/store/sqlite.ts";

/** A part is the cloud's part id, or `local` for a machine without a cloud. */
export const serverMigrations: readonly Migration[] = [
  {
    version: 1,
    name: "configuration history and access keys",
    up: `
      CREATE TABLE config_revisions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        part TEXT NOT NULL,
        revision TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        config TEXT NOT NULL
      ) STRICT;
      CREATE INDEX config_revisions_by_part ON config_revisions (part, id);
      CREATE TABLE access_keys (
        part TEXT NOT NULL,
        id TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (part, id)
      ) STRICT, WITHOUT ROWID;`,
  },
];
