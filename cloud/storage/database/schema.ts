import type { ColumnType, Generated } from "kysely";
import type { Role } from "../../../shared/rights/roles.ts";
import type { DataTables } from "./data_schema.ts";
import type { EnrollmentTables } from "./enrollment_schema.ts";
import type { FragmentTables } from "./fragment_schema.ts";
import type { PeopleTables } from "./people_schema.ts";
import type { PipelineTables } from "./pipeline_schema.ts";
import type { ActorType, ResourceType, Visibility } from "./row_types.ts";
import type { SequenceTables } from "./sequence_schema.ts";
import type { TrainingTables } from "./training_schema.ts";
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

/** What a package holds. */
export type PackageType = "archive" | "ml_model" | "module" | "slam_map" | "ml_training";

/** A program that is released and that agents keep up to date. */
export type Program = "machine-server" | "machine-agent";
/** What follows `dev` gets the releases of both channels. */
export type ReleaseChannel = "stable" | "dev";
/** `paused` by an operator, `stopped` automatically. */
export type RolloutState = "running" | "paused" | "stopped";
/** What came of a release on a machine. */
export type ReleaseOutcome = "updating" | "done" | "rolled back";
/** What an operator wants of an agent. */
export type AgentAction = "force" | "forget bad" | "restart";

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

/** What a part last reported of itself; written at a slow pace. */
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

/** A module, model or other thing that comes in versions. */
export interface RegistryItemsTable {
  id: Fixed<string>;
  org_id: string;
  /** Unique in the organisation, whatever the type. */
  name: string;
  type: Fixed<PackageType>;
  visibility: Visibility;
  url: string;
  description: string;
  markdown: string | null;
  /** JSON of the item's metadata message; what it says of versions is in their table. */
  details: string;
  created_at: Fixed<TimeMs>;
  updated_at: TimeMs;
  /** Null: it is not. */
  deprecated_at: ColumnType<TimeMs | null, TimeMs | null | undefined, TimeMs | null>;
  deprecated_message: Generated<string>;
}

export interface ItemVersionsTable {
  item_id: Fixed<string>;
  version: Fixed<string>;
  /** What `registry_items.details` was when the version was uploaded last. */
  details: string;
  created_at: Fixed<TimeMs>;
  /** Null: it is not. */
  deprecated_at: ColumnType<TimeMs | null, TimeMs | null | undefined, TimeMs | null>;
  deprecated_message: Generated<string>;
}

/** One uploaded file: a version for a platform. */
export interface PackageFilesTable {
  /** Also the file's name in the folder of blobs. */
  id: Fixed<string>;
  item_id: Fixed<string>;
  version: Fixed<string>;
  /** `os/architecture`, `os/any` or `any`. */
  platform: Fixed<string>;
  /** Program in the archive; empty: none is known. */
  entrypoint: Fixed<string>;
  /** Hexadecimal. */
  sha256: Fixed<string>;
  /** Base64 of four bytes. */
  crc32c: Fixed<string>;
  /** Bytes. */
  size: Fixed<number>;
  /** JSON object, as it was sent. */
  metadata: Fixed<string>;
  /** JSON list of {@link FileInfo} messages, as it was sent. */
  files: Fixed<string>;
  created_at: Fixed<TimeMs>;
  created_by_type: Fixed<ActorType>;
  created_by: Fixed<string>;
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
/** One version of one program. */
export interface ReleasesTable {
  id: Fixed<string>;
  program: Fixed<Program>;
  version: Fixed<string>;
  channel: ReleaseChannel;
  notes: string;
  added_at: Fixed<TimeMs>;
  withdrawn_at: TimeMs | null;
  /** 1: machines that run it although it was withdrawn go back to the one before. */
  goes_back: number;
}

/** The public halves of the keys that sign releases, oldest first. */
export interface ReleaseKeysTable {
  seq: Generated<number>;
  id: Fixed<string>;
  /** Base64 of 32 bytes, Ed25519. */
  public_key: Fixed<string>;
  /** The key before, which vouches for this one; empty for the first. */
  signed_by: Fixed<string>;
  /** Base64. */
  signature: Fixed<string>;
  created_at: Fixed<TimeMs>;
}

/** A release's file for one platform. */
export interface ReleaseFilesTable {
  /** Also the file's name in the folder of releases. */
  id: Fixed<string>;
  release_id: Fixed<string>;
  /** `os/architecture`. */
  platform: Fixed<string>;
  size: Fixed<number>;
  sha256: Fixed<string>;
  /** Base64. */
  signature: Fixed<string>;
  key_id: Fixed<string>;
  added_at: Fixed<TimeMs>;
  added_by_type: Fixed<ActorType>;
  added_by: Fixed<string>;
}

/** Who gets a release; one without a row goes to everybody on its channel. */
export interface RolloutsTable {
  release_id: Fixed<string>;
  /** 0 to 100. */
  percent: number;
  /** JSON: a list of texts. */
  tags: string;
  state: RolloutState;
  /** Why it was stopped. */
  reason: string;
  stop_percent: number;
  stop_minimum: number;
  changed_at: TimeMs;
  /** What came of it before does not stop it any more. */
  counted_since: TimeMs;
}

/** What came of a release on a part that follows a channel or a range. */
export interface ReleaseOutcomesTable {
  release_id: Fixed<string>;
  part_id: Fixed<string>;
  outcome: ReleaseOutcome;
  reason: string;
  /** Distinguishes one failure from the next. */
  mark: string;
  /** When the cloud learned of it. */
  at: TimeMs;
}

/** What a part's agent reported last; written at a slow pace. */
export interface PartAgentsTable {
  part_id: Fixed<string>;
  /** JSON of machine.cloud.v1.AgentStatus. */
  status: string;
  reported_at: TimeMs;
  /** 1: the agent reports its status; 0: this was made out of what it asks with. */
  is_report: number;
}

/** Wishes of operators that agents have not carried out yet. */
export interface AgentCommandsTable {
  id: Fixed<string>;
  part_id: Fixed<string>;
  program: Fixed<Program>;
  action: Fixed<AgentAction>;
  /** For `forget bad`; empty: all of them. */
  version: Fixed<string>;
  created_at: Fixed<TimeMs>;
  expires_at: Fixed<TimeMs>;
  created_by_type: Fixed<ActorType>;
  created_by: Fixed<string>;
}

/** What the spec calls the type of a trigger's event. */
export type TriggerType =
  | "part_online"
  | "part_offline"
  | "part_data_ingested"
  | "conditional_data_ingested"
  | "conditional_logs_ingested";
/** How somebody is notified. */
export type NotificationType = "webhook" | "email";
/** `failed`: it is not tried any more. */
export type DeliveryState = "pending" | "delivered" | "failed";
export type LivenessState = "online" | "offline";

/** A trigger fired. Rows are never changed. */
export interface TriggerEventsTable {
  seq: Generated<number>;
  part_id: Fixed<string>;
  trigger_name: Fixed<string>;
  trigger_type: Fixed<TriggerType>;
  component_name: Fixed<string | null>;
  method_name: Fixed<string | null>;
  created_at: Fixed<TimeMs>;
  /** 1: somebody requested it to try the trigger out. */
  is_test: Fixed<number>;
  /** JSON: `EventFacts` of cloud/triggers/events. */
  facts: Fixed<string>;
  /** JSON: why it fired. */
  evaluation: Fixed<string>;
}

/** One notification of an event on its way to one receiver. */
export interface DeliveriesTable {
  /** Rises with every row. */
  seq: Generated<number>;
  /** Sent to the receiver; the same at every attempt. */
  id: Fixed<string>;
  event_seq: Fixed<number>;
  part_id: Fixed<string>;
  trigger_name: Fixed<string>;
  type: Fixed<NotificationType>;
  /** URL without credentials, or an e-mail address. */
  target: Fixed<string>;
  /** JSON of the user name and password for the URL. */
  credentials: Fixed<string | null>;
  /** What shares a queue: one receiver. */
  endpoint: Fixed<string>;
  state: DeliveryState;
  attempts: number;
  next_attempt_at: TimeMs;
  /** No attempt after this. */
  expires_at: TimeMs;
  created_at: Fixed<TimeMs>;
  finished_at: TimeMs | null;
  /** Of the last attempt; null: no answer. */
  status_code: number | null;
  /** Of the last attempt; empty: it went well. */
  error: string;
}

export interface DeliveryAttemptsTable {
  delivery_seq: Fixed<number>;
  /** 1, 2, 3 … within the delivery. */
  number: Fixed<number>;
  started_at: Fixed<TimeMs>;
  duration_ms: Fixed<number>;
  status_code: Fixed<number | null>;
  error: Fixed<string>;
  /** The beginning of the answer's body. */
  response: Fixed<string>;
}

/** What came of a trigger so far. */
export interface TriggerCountsTable {
  part_id: Fixed<string>;
  trigger_name: Fixed<string>;
  /** Uploads that it looked at, or transitions. */
  syncs: number;
  fired: number;
  /** Readings that could not be compared. */
  incomparable: number;
  /** Notifications left out by `seconds_between_notifications`. */
  suppressed: number;
  /** Notifications left out because too many wait. */
  overflowed: number;
  last_synced_at: TimeMs;
  last_fired_at: TimeMs | null;
  /** Why a reading could not be compared last; empty: all could. */
  last_problem: string;
}

/** When each entry of a trigger's notifications was due last. */
export interface NotificationPacesTable {
  part_id: Fixed<string>;
  trigger_name: Fixed<string>;
  /** Type and receiver. */
  notification: Fixed<string>;
  last_at: TimeMs;
}

/** Triggers whose signing secret is not the first one any more. */
export interface TriggerSecretsTable {
  part_id: Fixed<string>;
  trigger_name: Fixed<string>;
  generation: number;
  rotated_at: TimeMs;
}

/** How a part stood when that was last noted; triggers learn of the transitions. */
export interface PartLivenessTable {
  part_id: Fixed<string>;
  state: LivenessState;
  since: TimeMs;
}

/** Who `all_machine_owners` are. */
export interface OwnerEmailsTable {
  org_id: Fixed<string>;
  resource_type: Fixed<ResourceType>;
  resource_id: Fixed<string>;
  email: Fixed<string>;
}

export interface CloudTables
  extends
    DataTables,
    EnrollmentTables,
    FragmentTables,
    PeopleTables,
    PipelineTables,
    SequenceTables,
    TrainingTables,
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
  registry_items: RegistryItemsTable;
  item_versions: ItemVersionsTable;
  package_files: PackageFilesTable;
  changes: ChangesTable;
  releases: ReleasesTable;
  release_keys: ReleaseKeysTable;
  release_files: ReleaseFilesTable;
  rollouts: RolloutsTable;
  release_outcomes: ReleaseOutcomesTable;
  part_agents: PartAgentsTable;
  agent_commands: AgentCommandsTable;
  trigger_events: TriggerEventsTable;
  deliveries: DeliveriesTable;
  delivery_attempts: DeliveryAttemptsTable;
  trigger_counts: TriggerCountsTable;
  notification_paces: NotificationPacesTable;
  trigger_secrets: TriggerSecretsTable;
  part_liveness: PartLivenessTable;
  owner_emails: OwnerEmailsTable;
}
