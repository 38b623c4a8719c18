import type { ColumnType, Generated } from "kysely";
import type { Role } from "../../../shared/rights/roles.ts";
import type { DataTables } from "./data_schema.ts";
import type { EnrollmentTables } from "./enrollment_schema.ts";
import type { FragmentTables } from "./fragment_schema.ts";
import type { NodeTables } from "./node_schema.ts";
import type { PeopleTables } from "./people_schema.ts";
import type { PipelineTables } from "./pipeline_schema.ts";
import type { ActorType, ResourceType } from "./row_types.ts";
import type { RegistryTables } from "./registry_schema.ts";
import type { ReleaseTables } from "./release_schema.ts";
import type { SequenceTables } from "./sequence_schema.ts";
import type { SignInTables } from "./sign_in_schema.ts";
import type { TrainingTables } from "./training_schema.ts";
import type { TriggerTables } from "./trigger_schema.ts";
import type { ModelSchemaTables } from "./model_schema_schema.ts";
import type { VersionTables } from "./version_schema.ts";

export type { ActorType, ResourceType, Visibility } from "./row_types.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

export type SecretState = "enabled" | "disabled";
/** What changed: the configuration, who may open the machine, or a restart was requested. */
export type ChangeKind = "config" | "access" | "restart";
/** By what a configuration was saved; `fragment`: one that it includes was. */
export type SavedHow = "api" | "console" | "cli" | "restore" | "fragment";

export interface SettingsTable {
  name: string;
  value: string;
}

export interface OrganizationsTable {
  id: Fixed<string>;
  name: string;
  created_at: Fixed<TimeMs>;
  /** Begins the ids of its registry items; unique; null: the organisation's id does. */
  namespace: ColumnType<string | null, string | null | undefined, string | null>;
  /** JSON: what new machines include, entries as in `fragments` of a configuration. */
  default_fragments: Generated<string>;
  /** Where people ask; empty: none. */
  support_email: Generated<string>;
}

/** Whose a namespace is: whoever took it first, also when it has another one now, or is gone. */
export interface NamespacesTable {
  name: Fixed<string>;
  org_id: Fixed<string>;
  taken_at: Fixed<TimeMs>;
}

export interface LocationsTable {
  /** Ten lower-case letters and digits. */
  id: Fixed<string>;
  org_id: Fixed<string>;
  name: string;
  created_at: Fixed<TimeMs>;
  /** The location of the same organisation that it is in; null: none. */
  parent_id: ColumnType<string | null, string | null | undefined, string | null>;
}

/** An organisation whose members may use the machines of another's location and those within it. */
export interface LocationSharesTable {
  location_id: Fixed<string>;
  org_id: Fixed<string>;
  shared_at: Fixed<TimeMs>;
}

export interface MachinesTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  location_id: string;
  name: string;
  created_at: Fixed<TimeMs>;
}

export interface PartsTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  location_id: string;
  machine_id: Fixed<string>;
  name: string;
  /** First label of the part's host name, unique in its location; a rename leaves it as it is. */
  dns_label: Fixed<string>;
  /** 0 or 1. */
  is_main: number;
  created_at: Fixed<TimeMs>;
  /** Rises with every save, also when the clock does not. */
  last_updated: TimeMs;
  /** Number of the newest row in part_revisions. */
  revision_number: number;
  restart_requested_at: TimeMs | null;
}

/** One saved state of a part. Rows are never changed; the database refuses it. */
export interface PartRevisionsTable {
  part_id: Fixed<string>;
  /** 1, 2, 3 … within the part. */
  number: Fixed<number>;
  /** What is reported to the machine: the number and the start of the content's hash. */
  revision: Fixed<string>;
  part_name: Fixed<string>;
  /** JSON text as it was sent, key order kept. */
  config: Fixed<string>;
  saved_at: Fixed<TimeMs>;
  saved_by_type: Fixed<ActorType>;
  saved_by: Fixed<string>;
  /** JSON: names of what was added, changed and removed. Never a value. */
  diff: Fixed<string>;
  saved_how: ColumnType<SavedHow, SavedHow | undefined, never>;
}

/** What a part last reported of itself; written at long intervals. */
export interface PartPresenceTable {
  part_id: Fixed<string>;
  last_access: TimeMs | null;
  /** JSON of {@link ../presence/presence.ts PartFacts}. */
  facts: string;
}

export interface ApiKeysTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  name: string;
  /** PHC string. */
  hash: string;
  /** Set for keys that can be computed again from the cloud's master secret. */
  derived_as: Fixed<string | null>;
  created_at: Fixed<TimeMs>;
  /** A deleted key stays known, so that history can name it. */
  deleted_at: TimeMs | null;
}

export interface ApiKeyGrantsTable {
  key_id: Fixed<string>;
  role: Role;
  resource_type: ResourceType;
  resource_id: string;
}

export interface PartSecretsTable {
  id: Fixed<string>;
  part_id: Fixed<string>;
  created_at: Fixed<TimeMs>;
  state: SecretState;
  /** 0 or 1: a server that needs no secret in clear signed in with it. */
  takes_hashes: Generated<number>;
}

export interface LocationSecretsTable {
  id: Fixed<string>;
  location_id: Fixed<string>;
  created_at: Fixed<TimeMs>;
  state: SecretState;
}

/** What happened, in order, for every process that works on this database. */
export interface ChangesTable {
  seq: Generated<number>;
  org_id: Fixed<string>;
  /** Null: every part of the organisation. */
  part_id: Fixed<string | null>;
  kind: Fixed<ChangeKind>;
  created_at: Fixed<TimeMs>;
}

/** The tables of `cloud.db`. */
export interface CloudTables
  extends
    DataTables,
    EnrollmentTables,
    FragmentTables,
    NodeTables,
    PeopleTables,
    PipelineTables,
    RegistryTables,
    ReleaseTables,
    SequenceTables,
    SignInTables,
    TrainingTables,
    TriggerTables,
    VersionTables,
    ModelSchemaTables {
  settings: SettingsTable;
  organizations: OrganizationsTable;
  namespaces: NamespacesTable;
  locations: LocationsTable;
  location_shares: LocationSharesTable;
  machines: MachinesTable;
  parts: PartsTable;
  part_revisions: PartRevisionsTable;
  part_presence: PartPresenceTable;
  api_keys: ApiKeysTable;
  api_key_grants: ApiKeyGrantsTable;
  part_secrets: PartSecretsTable;
  location_secrets: LocationSecretsTable;
  changes: ChangesTable;
}
