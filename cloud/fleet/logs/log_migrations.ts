import type { Migration } from "../../../shared/base/store/sqlite.ts";

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
  {
    version: 2,
    name: "bytes of each source",
    up: `
      ALTER TABLE sources ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
      UPDATE sources SET bytes = (
        SELECT coalesce(sum(
          256 + octet_length(level) + octet_length(logger) + octet_length(message) +
          octet_length(host) + coalesce(octet_length(caller), 0) +
          coalesce(octet_length(stack), 0) + coalesce(octet_length(fields), 0)
        ), 0) FROM lines WHERE source = sources.number);
    `,
  },
];
