import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Devices that become machines by a token of their location. */
export const enrollmentMigration: Migration = {
  version: 14,
  name: "enrolment of devices",
  up: `
    CREATE TABLE enrollment_tokens (
      id TEXT PRIMARY KEY,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      location_id TEXT NOT NULL REFERENCES locations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE,
      max_machines INTEGER NOT NULL,
      needs_approval INTEGER NOT NULL,
      name_pattern TEXT NOT NULL,
      template TEXT NOT NULL,
      counter INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      created_by_type TEXT NOT NULL,
      created_by TEXT NOT NULL,
      expires_at INTEGER
    );
    CREATE INDEX enrollment_tokens_by_location ON enrollment_tokens (location_id);

    CREATE TABLE enrollments (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      token_id TEXT NOT NULL REFERENCES enrollment_tokens (id) ON DELETE CASCADE,
      location_id TEXT NOT NULL REFERENCES locations (id) ON DELETE CASCADE,
      device_hash TEXT NOT NULL,
      state TEXT NOT NULL,
      facts TEXT NOT NULL,
      address TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      machine_id TEXT REFERENCES machines (id) ON DELETE CASCADE,
      UNIQUE (token_id, device_hash)
    );
    CREATE INDEX enrollments_by_location ON enrollments (location_id, seq);
    CREATE INDEX enrollments_by_machine ON enrollments (machine_id);
    CREATE INDEX enrollments_by_state ON enrollments (token_id, state);
  `,
};
