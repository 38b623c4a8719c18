import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Whose each namespace is for good, those included that organisations have at that time. */
export const namespaceMigration: Migration = {
  version: 8,
  name: "namespaces are never reassigned",
  up: `
    CREATE TABLE namespaces (
      name TEXT PRIMARY KEY,
      org_id TEXT NOT NULL,
      taken_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX namespaces_by_org ON namespaces (org_id);
    INSERT INTO namespaces
      SELECT namespace, id, created_at FROM organizations WHERE namespace IS NOT NULL;
  `,
};
