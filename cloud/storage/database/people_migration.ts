import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** People with their sessions and grants, invitations, and the audit log. */
export const peopleMigration: Migration = {
  version: 10,
  name: "people, sessions, invitations and the audit log",
  up: `
    CREATE TABLE users (
      id TEXT PRIMARY KEY,
      email TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      password_hash TEXT,
      created_at INTEGER NOT NULL,
      last_sign_in_at INTEGER,
      last_seen_at INTEGER,
      session_epoch INTEGER NOT NULL,
      totp_generation INTEGER NOT NULL,
      totp_enabled INTEGER NOT NULL,
      totp_last_step INTEGER NOT NULL
    );

    CREATE TABLE user_grants (
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      org_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      role TEXT NOT NULL,
      resource_type TEXT NOT NULL,
      resource_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (user_id, resource_type, resource_id)
    ) WITHOUT ROWID;
    CREATE INDEX user_grants_by_org ON user_grants (org_id);
    CREATE INDEX user_grants_by_resource ON user_grants (resource_type, resource_id);

    CREATE TABLE recovery_codes (
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      PRIMARY KEY (user_id, hash)
    ) WITHOUT ROWID;

    CREATE TABLE single_sign_on_identities (
      issuer TEXT NOT NULL,
      subject TEXT NOT NULL,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (issuer, subject)
    ) WITHOUT ROWID;

    CREATE TABLE sessions (
      id TEXT PRIMARY KEY,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      method TEXT NOT NULL,
      address TEXT NOT NULL,
      client TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER
    ) WITHOUT ROWID;
    CREATE INDEX sessions_by_user ON sessions (user_id);
    CREATE INDEX sessions_by_expiry ON sessions (expires_at);

    CREATE TABLE one_time_links (
      hash TEXT PRIMARY KEY,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      purpose TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX one_time_links_by_user ON one_time_links (user_id);

    CREATE TABLE invitations (
      org_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      email TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE,
      grants TEXT NOT NULL,
      invited_by TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (org_id, email)
    ) WITHOUT ROWID;
    CREATE INDEX invitations_by_email ON invitations (email);

    CREATE TABLE favorite_machines (
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      machine_id TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (user_id, machine_id)
    ) WITHOUT ROWID;

    CREATE TABLE audit_entries (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      org_id TEXT NOT NULL,
      at INTEGER NOT NULL,
      actor_type TEXT NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      target TEXT NOT NULL,
      address TEXT NOT NULL,
      client TEXT NOT NULL
    );
    CREATE INDEX audit_entries_by_org ON audit_entries (org_id, seq);
    CREATE INDEX audit_entries_by_time ON audit_entries (at);
  `,
};
