import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Nodes that serve one database, what they send each other, and which one leads. */
export const nodeMigration: Migration = {
  version: 21,
  name: "nodes that serve together",
  up: `
    CREATE TABLE nodes (
      id TEXT PRIMARY KEY,
      host TEXT NOT NULL,
      address TEXT NOT NULL,
      version TEXT NOT NULL,
      joined_at INTEGER NOT NULL,
      seen_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE node_messages (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      sender TEXT NOT NULL,
      target TEXT,
      topic TEXT NOT NULL,
      payload TEXT NOT NULL,
      created_at INTEGER NOT NULL
    );
    CREATE INDEX node_messages_by_time ON node_messages (created_at);
    CREATE TABLE node_leader (
      place INTEGER NOT NULL PRIMARY KEY CHECK (place = 1),
      node_id TEXT NOT NULL,
      term INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO node_leader VALUES (1, '', 0);
  `,
};
