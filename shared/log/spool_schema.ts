import type { Migration } from "../base/store/sqlite.ts";

/**
 * The queue's table. `notice` and `count` are set for entries that stand where others were
 * dropped: why, and how many.
 */
export const spoolMigrations: readonly Migration[] = [
  {
    version: 1,
    name: "log queue",
    up: `
      CREATE TABLE log_queue (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        severity INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        entry BLOB NOT NULL,
        notice TEXT,
        count INTEGER
      ) STRICT;
      CREATE INDEX log_queue_by_severity ON log_queue (severity, id);`,
  },
  {
    version: 2,
    name: "marks of readers",
    // How far those have read who put the lines of others into the queue.
    up: "CREATE TABLE log_mark (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
  },
];
