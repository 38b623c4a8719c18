import type { ColumnType, Generated } from "kysely";
import type { ResourceType } from "./row_types.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

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

export interface TriggerTables {
  trigger_events: TriggerEventsTable;
  deliveries: DeliveriesTable;
  delivery_attempts: DeliveryAttemptsTable;
  trigger_counts: TriggerCountsTable;
  notification_paces: NotificationPacesTable;
  trigger_secrets: TriggerSecretsTable;
  part_liveness: PartLivenessTable;
  owner_emails: OwnerEmailsTable;
}
