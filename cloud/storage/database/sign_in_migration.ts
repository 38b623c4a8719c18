import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** What is under way while somebody signs in, which every node may be asked about. */
export const signInMigration: Migration = {
  version: 22,
  name: "sign-ins that are under way",
  up: `
    ALTER TABLE users ADD COLUMN reset_mailed_at INTEGER;
    CREATE TABLE used_codes (
      id TEXT PRIMARY KEY,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX used_codes_by_expiry ON used_codes (expires_at);
    CREATE TABLE device_sign_ins (
      device_hash TEXT PRIMARY KEY,
      user_code TEXT NOT NULL UNIQUE,
      client_name TEXT NOT NULL,
      address TEXT NOT NULL,
      block TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      decision TEXT,
      user_id TEXT,
      session_id TEXT
    ) WITHOUT ROWID;
    CREATE INDEX device_sign_ins_by_expiry ON device_sign_ins (expires_at);
  `,
};
