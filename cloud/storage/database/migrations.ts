import type { Migration } from "../../../shared/base/store/sqlite.ts";
import { dataMigration } from "./data_migration.ts";
import { brandingMigration } from "./branding_migration.ts";
import { deprecationMigration } from "./deprecation_migration.ts";
import { enrollmentMigration } from "./enrollment_migration.ts";
import { factsMigration } from "./facts_migration.ts";
import { fragmentMigration } from "./fragment_migration.ts";
import { locationMigration } from "./location_migration.ts";
import { versionSchemaMigration } from "./version_schema_migration.ts";
import { archiveMigration } from "./archive_migration.ts";
import { logMigration } from "./log_migration.ts";
import { modelSchemaMigration } from "./model_schema_migration.ts";
import { namespaceMigration } from "./namespace_migration.ts";
import { peopleMigration } from "./people_migration.ts";
import { nodeMigration } from "./node_migration.ts";
import { pipelineMigration } from "./pipeline_migration.ts";
import { secretMigration } from "./secret_migration.ts";
import { signInMigration } from "./sign_in_migration.ts";
import { positionMigration } from "./position_migration.ts";
import { sequenceMigration } from "./sequence_migration.ts";
import { trainingMigration } from "./training_migration.ts";
import { versionMigration } from "./version_migration.ts";
import { weekMigration } from "./week_migration.ts";

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
  {
    version: 4,
    name: "triggers, their notifications and who is online",
    up: `
      CREATE TABLE trigger_events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        trigger_name TEXT NOT NULL,
        trigger_type TEXT NOT NULL,
        component_name TEXT,
        method_name TEXT,
        created_at INTEGER NOT NULL,
        is_test INTEGER NOT NULL,
        headers TEXT NOT NULL,
        body TEXT NOT NULL,
        evaluation TEXT NOT NULL
      );
      CREATE INDEX trigger_events_by_part ON trigger_events (part_id);

      CREATE TABLE deliveries (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        event_seq INTEGER NOT NULL REFERENCES trigger_events (seq) ON DELETE CASCADE,
        part_id TEXT NOT NULL,
        trigger_name TEXT NOT NULL,
        type TEXT NOT NULL,
        target TEXT NOT NULL,
        credentials TEXT,
        endpoint TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        next_attempt_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        finished_at INTEGER,
        status_code INTEGER,
        error TEXT NOT NULL
      );
      CREATE INDEX deliveries_by_event ON deliveries (event_seq);
      CREATE INDEX deliveries_by_trigger ON deliveries (part_id, trigger_name, seq);
      CREATE INDEX deliveries_pending ON deliveries (endpoint, next_attempt_at)
        WHERE state = 'pending';
      CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

      CREATE TABLE delivery_attempts (
        delivery_seq INTEGER NOT NULL REFERENCES deliveries (seq) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        status_code INTEGER,
        error TEXT NOT NULL,
        response TEXT NOT NULL,
        PRIMARY KEY (delivery_seq, number)
      ) WITHOUT ROWID;

      CREATE TABLE trigger_counts (
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        trigger_name TEXT NOT NULL,
        syncs INTEGER NOT NULL,
        fired INTEGER NOT NULL,
        incomparable INTEGER NOT NULL,
        suppressed INTEGER NOT NULL,
        overflowed INTEGER NOT NULL,
        last_synced_at INTEGER NOT NULL,
        last_fired_at INTEGER,
        last_problem TEXT NOT NULL,
        PRIMARY KEY (part_id, trigger_name)
      ) WITHOUT ROWID;

      CREATE TABLE notification_paces (
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        trigger_name TEXT NOT NULL,
        notification TEXT NOT NULL,
        last_at INTEGER NOT NULL,
        PRIMARY KEY (part_id, trigger_name, notification)
      ) WITHOUT ROWID;

      CREATE TABLE trigger_secrets (
        part_id TEXT NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
        trigger_name TEXT NOT NULL,
        generation INTEGER NOT NULL,
        rotated_at INTEGER NOT NULL,
        PRIMARY KEY (part_id, trigger_name)
      ) WITHOUT ROWID;

      CREATE TABLE part_liveness (
        part_id TEXT PRIMARY KEY REFERENCES parts (id) ON DELETE CASCADE,
        state TEXT NOT NULL,
        since INTEGER NOT NULL
      ) WITHOUT ROWID;
      INSERT INTO part_liveness
        SELECT part_id, CASE
          WHEN last_access > (SELECT max(last_access) FROM part_presence) - 120000 THEN 'online'
          ELSE 'offline' END, last_access
        FROM part_presence WHERE last_access IS NOT NULL;

      CREATE TABLE owner_emails (
        org_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
        resource_type TEXT NOT NULL,
        resource_id TEXT NOT NULL,
        email TEXT NOT NULL,
        PRIMARY KEY (org_id, resource_type, resource_id, email)
      ) WITHOUT ROWID;
    `,
  },
  dataMigration,
  trainingMigration,
  sequenceMigration,
  namespaceMigration,
  secretMigration,
  peopleMigration,
  fragmentMigration,
  locationMigration,
  pipelineMigration,
  enrollmentMigration,
  factsMigration,
  deprecationMigration,
  versionMigration,
  brandingMigration,
  modelSchemaMigration,
  versionSchemaMigration,
  nodeMigration,
  signInMigration,
  logMigration,
  archiveMigration,
  positionMigration,
  weekMigration,
];
