import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** Fragments, what parts have of them, how a revision came about, and notes on things. */
export const fragmentMigration: Migration = {
  version: 11,
  name: "fragments and metadata",
  up: `
    CREATE TABLE fragments (
      id TEXT PRIMARY KEY,
      org_id TEXT NOT NULL REFERENCES organizations (id),
      name TEXT NOT NULL,
      visibility TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_updated INTEGER NOT NULL,
      revision_number INTEGER NOT NULL,
      UNIQUE (org_id, name)
    );

    CREATE TABLE fragment_revisions (
      fragment_id TEXT NOT NULL REFERENCES fragments (id) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      name TEXT NOT NULL,
      visibility TEXT NOT NULL,
      config TEXT NOT NULL,
      saved_at INTEGER NOT NULL,
      saved_by_type TEXT NOT NULL,
      saved_by TEXT NOT NULL,
      UNIQUE (fragment_id, number)
    );
    CREATE TRIGGER fragment_revisions_are_immutable BEFORE UPDATE ON fragment_revisions
      BEGIN SELECT RAISE(ABORT, 'a saved revision is never changed'); END;

    CREATE TABLE fragment_tags (
      fragment_id TEXT NOT NULL REFERENCES fragments (id) ON DELETE CASCADE,
      tag TEXT NOT NULL,
      number INTEGER NOT NULL,
      PRIMARY KEY (fragment_id, tag)
    ) WITHOUT ROWID;

    CREATE TABLE fragment_children (
      fragment_id TEXT NOT NULL REFERENCES fragments (id) ON DELETE CASCADE,
      child_id TEXT NOT NULL,
      PRIMARY KEY (fragment_id, child_id)
    ) WITHOUT ROWID;
    CREATE INDEX fragment_children_by_child ON fragment_children (child_id);

    CREATE TABLE part_fragments (
      part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
      fragment_id TEXT NOT NULL,
      revision TEXT NOT NULL,
      PRIMARY KEY (fragment_id, part_id, revision)
    ) WITHOUT ROWID;
    CREATE INDEX part_fragments_by_part ON part_fragments (part_id);

    CREATE TABLE resolved_configs (hash TEXT PRIMARY KEY, config TEXT NOT NULL);

    CREATE TABLE part_resolved (
      part_id TEXT PRIMARY KEY REFERENCES parts (id) ON DELETE CASCADE,
      hash TEXT NOT NULL REFERENCES resolved_configs (hash),
      problem TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX part_resolved_by_hash ON part_resolved (hash);

    CREATE TABLE fragment_rollouts (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      fragment_id TEXT NOT NULL,
      after_part_id TEXT NOT NULL,
      saved_by_type TEXT NOT NULL,
      saved_by TEXT NOT NULL,
      created_at INTEGER NOT NULL
    );

    CREATE TABLE resource_metadata (
      resource_type TEXT NOT NULL,
      resource_id TEXT NOT NULL,
      data TEXT NOT NULL,
      PRIMARY KEY (resource_type, resource_id)
    ) WITHOUT ROWID;

    ALTER TABLE organizations ADD COLUMN default_fragments TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE part_revisions ADD COLUMN saved_how TEXT NOT NULL DEFAULT 'api';

    CREATE VIEW part_configs AS
      SELECT parts.id AS part_id, parts.revision_number AS number,
        part_revisions.revision AS revision,
        coalesce(resolved_configs.config, part_revisions.config) AS config
      FROM parts
      JOIN part_revisions ON part_revisions.part_id = parts.id
        AND part_revisions.number = parts.revision_number
      LEFT JOIN part_resolved ON part_resolved.part_id = parts.id
      LEFT JOIN resolved_configs ON resolved_configs.hash = part_resolved.hash;
  `,
};
