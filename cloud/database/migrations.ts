import type { Migration } from "../../shared/store/sqlite.ts";

/** `cloud.db`. A migration that was released is never changed; add the next number. */
export const cloudMigrations: readonly Migration[] = [
  {
    version: 1,
    name: "organisations, machines, revisions and keys",
    up: `
      CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

      CREATE TABLE organizations (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL
      );
      CREATE INDEX organizations_by_name ON organizations (name, created_at);

      CREATE TABLE locations (
        id TEXT PRIMARY KEY,
        org_id TEXT NOT NULL REFERENCES organizations (id),
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL
      );
      CREATE INDEX locations_by_org ON locations (org_id, name);

      CREATE TABLE machines (
        id TEXT PRIMARY KEY,
        org_id TEXT NOT NULL REFERENCES organizations (id),
        location_id TEXT NOT NULL REFERENCES locations (id),
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        UNIQUE (location_id, name)
      );
      CREATE INDEX machines_by_org ON machines (org_id);

      CREATE TABLE parts (
        id TEXT PRIMARY KEY,
        org_id TEXT NOT NULL REFERENCES organizations (id),
        location_id TEXT NOT NULL REFERENCES locations (id),
        machine_id TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        dns_label TEXT NOT NULL,
        is_main INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        last_updated INTEGER NOT NULL,
        revision_number INTEGER NOT NULL,
        restart_requested_at INTEGER,
        UNIQUE (location_id, dns_label),
        UNIQUE (machine_id, name)
      );
      CREATE INDEX parts_by_org ON parts (org_id);

      CREATE TABLE part_revisions (
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        revision TEXT NOT NULL,
        part_name TEXT NOT NULL,
        config TEXT NOT NULL,
        saved_at INTEGER NOT NULL,
        saved_by_type TEXT NOT NULL,
        saved_by TEXT NOT NULL,
        diff TEXT NOT NULL,
        UNIQUE (part_id, number)
      );
      CREATE TRIGGER part_revisions_are_immutable BEFORE UPDATE ON part_revisions
        BEGIN SELECT RAISE(ABORT, 'a saved revision is never changed'); END;

      CREATE TABLE part_presence (
        part_id TEXT PRIMARY KEY REFERENCES parts (id) ON DELETE CASCADE,
        last_access INTEGER,
        facts TEXT NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE api_keys (
        id TEXT PRIMARY KEY,
        org_id TEXT NOT NULL REFERENCES organizations (id),
        name TEXT NOT NULL,
        hash TEXT NOT NULL,
        derived_as TEXT UNIQUE,
        created_at INTEGER NOT NULL,
        deleted_at INTEGER
      );
      CREATE INDEX api_keys_by_org ON api_keys (org_id);

      CREATE TABLE api_key_grants (
        key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        resource_type TEXT NOT NULL,
        resource_id TEXT NOT NULL,
        PRIMARY KEY (key_id, role, resource_type, resource_id)
      ) WITHOUT ROWID;
      CREATE INDEX api_key_grants_by_resource ON api_key_grants (resource_type, resource_id);

      CREATE TABLE part_secrets (
        id TEXT PRIMARY KEY,
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        created_at INTEGER NOT NULL,
        state TEXT NOT NULL
      );
      CREATE INDEX part_secrets_by_part ON part_secrets (part_id);

      CREATE TABLE location_secrets (
        id TEXT PRIMARY KEY,
        location_id TEXT NOT NULL REFERENCES locations (id) ON DELETE CASCADE,
        created_at INTEGER NOT NULL,
        state TEXT NOT NULL
      );
      CREATE INDEX location_secrets_by_location ON location_secrets (location_id);

      CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        org_id TEXT NOT NULL,
        part_id TEXT,
        kind TEXT NOT NULL,
        created_at INTEGER NOT NULL
      );
    `,
  },
  {
    version: 2,
    name: "registry items and the packages they come in",
    up: `
      ALTER TABLE organizations ADD COLUMN namespace TEXT;
      CREATE UNIQUE INDEX organizations_by_namespace ON organizations (namespace);

      CREATE TABLE registry_items (
        id TEXT PRIMARY KEY,
        org_id TEXT NOT NULL REFERENCES organizations (id),
        name TEXT NOT NULL,
        type TEXT NOT NULL,
        visibility TEXT NOT NULL,
        url TEXT NOT NULL,
        description TEXT NOT NULL,
        markdown TEXT,
        details TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        UNIQUE (org_id, name)
      );

      CREATE TABLE item_versions (
        item_id TEXT NOT NULL REFERENCES registry_items (id) ON DELETE CASCADE,
        version TEXT NOT NULL,
        details TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (item_id, version)
      ) WITHOUT ROWID;

      CREATE TABLE package_files (
        id TEXT PRIMARY KEY,
        item_id TEXT NOT NULL,
        version TEXT NOT NULL,
        platform TEXT NOT NULL,
        entrypoint TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        crc32c TEXT NOT NULL,
        size INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        files TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        created_by_type TEXT NOT NULL,
        created_by TEXT NOT NULL,
        UNIQUE (item_id, version, platform),
        FOREIGN KEY (item_id, version) REFERENCES item_versions (item_id, version)
          ON DELETE CASCADE
      );
    `,
  },
  {
    version: 3,
    name: "releases, their rollouts and what agents tell",
    up: `
      CREATE TABLE releases (
        id TEXT PRIMARY KEY,
        program TEXT NOT NULL,
        version TEXT NOT NULL,
        channel TEXT NOT NULL,
        notes TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        withdrawn_at INTEGER,
        goes_back INTEGER NOT NULL,
        UNIQUE (program, version)
      );

      CREATE TABLE release_keys (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        public_key TEXT NOT NULL,
        signed_by TEXT NOT NULL,
        signature TEXT NOT NULL,
        created_at INTEGER NOT NULL
      );

      CREATE TABLE release_files (
        id TEXT PRIMARY KEY,
        release_id TEXT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
        platform TEXT NOT NULL,
        size INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        signature TEXT NOT NULL,
        key_id TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        added_by_type TEXT NOT NULL,
        added_by TEXT NOT NULL,
        UNIQUE (release_id, platform)
      );

      CREATE TABLE rollouts (
        release_id TEXT PRIMARY KEY REFERENCES releases (id) ON DELETE CASCADE,
        percent REAL NOT NULL,
        tags TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        stop_percent REAL NOT NULL,
        stop_minimum INTEGER NOT NULL,
        changed_at INTEGER NOT NULL,
        counted_since INTEGER NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE release_outcomes (
        release_id TEXT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        mark TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (release_id, part_id)
      ) WITHOUT ROWID;
      CREATE INDEX release_outcomes_by_part ON release_outcomes (part_id);

      CREATE TABLE part_agents (
        part_id TEXT PRIMARY KEY REFERENCES parts (id) ON DELETE CASCADE,
        status TEXT NOT NULL,
        reported_at INTEGER NOT NULL,
        is_report INTEGER NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE agent_commands (
        id TEXT PRIMARY KEY,
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        program TEXT NOT NULL,
        action TEXT NOT NULL,
        version TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        created_by_type TEXT NOT NULL,
        created_by TEXT NOT NULL
      );
      CREATE INDEX agent_commands_by_part ON agent_commands (part_id, created_at);
    `,
  },
];
