import type { ColumnType, Generated } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

export type SecretState = "enabled" | "disabled";
export type Role = "owner" | "operator";
export type ResourceType = "organization" | "location" | "robot";
/** What kind of credentials somebody acted with. */
export type ActorType = "api-key" | "robot-secret" | "robot-location-secret";
/** What changed: the configuration, who may open the machine, or a restart was asked for. */
export type ChangeKind = "config" | "access" | "restart";

export interface SettingsTable {
  name: string;
  value: string;
}

export interface OrganizationsTable {
  id: Fixed<string>;
  name: string;
  created_at: Fixed<TimeMs>;
}

export interface LocationsTable {
  /** Ten lower-case letters and digits. */
  id: Fixed<string>;
  org_id: Fixed<string>;
  name: string;
  created_at: Fixed<TimeMs>;
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
  /** What the machine is told: the number and the start of the content's hash. */
  revision: Fixed<string>;
  part_name: Fixed<string>;
  /** JSON text as it was sent, key order kept. */
  config: Fixed<string>;
  saved_at: Fixed<TimeMs>;
  saved_by_type: Fixed<ActorType>;
  saved_by: Fixed<string>;
  /** JSON: names of what was added, changed and removed. Never a value. */
  diff: Fixed<string>;
}

/** What a part last told of itself; written at a slow pace. */
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
export interface CloudTables {
  settings: SettingsTable;
  organizations: OrganizationsTable;
  locations: LocationsTable;
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
