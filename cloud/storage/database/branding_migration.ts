import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Logos of organisations, and invitations that need no link. */
export const brandingMigration: Migration = {
  version: 18,
  name: "logos, invitations accepted at sign-in",
  up: `
    ALTER TABLE invitations ADD COLUMN at_sign_in INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE organization_logos (
      org_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
      hash TEXT NOT NULL UNIQUE,
      media_type TEXT NOT NULL,
      picture BLOB NOT NULL
    );
  `,
};
