import type { Migration } from "../../shared/store/sqlite.ts";

/** `logs.db`. A migration that was released is never changed; add the next number. */
export const logMigrations: readonly Migration[] = [
  {
    version: 1,
    name: "log lines",
    up: `
      CREATE TABLE sources (number INTEGER PRIMARY KEY, part_id TEXT NOT NULL UNIQUE);

      CREATE TABLE lines (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        source INTEGER NOT NULL,
        time_ns INTEGER NOT NULL,
        -- Of everything in the line: a line that a client sends again has the same one.
        digest INTEGER NOT NULL,
        received_at INTEGER NOT NULL,
        level TEXT NOT NULL,
        logger TEXT NOT NULL,
        message TEXT NOT NULL,
        host TEXT NOT NULL,
        caller TEXT,
        stack TEXT,
        fields TEXT
      );
      CREATE UNIQUE INDEX lines_once ON lines (source, time_ns, digest);
      CREATE INDEX lines_in_order ON lines (source, time_ns);
    `,
  },
];
