import type { JsonValue } from "@bufbuild/protobuf";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { NotificationType, TriggerType } from "../../storage/database/trigger_schema.ts";
import type { EventFacts } from "../events/facts.ts";
import type { Random } from "../../storage/keys/random.ts";
import { TRY_FOR_MS } from "./retry_policy.ts";
import type { WebhookCredentials } from "./webhook.ts";

/** What happened. */
export interface FiredEvent {
  readonly partId: string;
  readonly triggerName: string;
  readonly triggerType: TriggerType;
  readonly componentName: string | undefined;
  readonly methodName: string | undefined;
  readonly at: Date;
  /** How long notifications are tried, milliseconds since 1970; left out: 24 hours from `at`. */
  readonly triedUntilMs?: number;
  readonly isTest: boolean;
  readonly facts: EventFacts;
  /** Why it fired. */
  readonly evaluation: JsonValue;
}

/** Who is notified. */
export interface Recipient {
  readonly type: NotificationType;
  /** URL without credentials, or one e-mail address. */
  readonly target: string;
  readonly credentials: WebhookCredentials | undefined;
}

/** What all mail shares as its queue: there is one mail server. */
const MAIL_ENDPOINT = "mail";
const LONGEST_ENDPOINT = 500;

/**
 * Writes an event and its notifications, and gives back their ids. Call it in the transaction that
 * writes what happened, and wake the deliverer when that has been committed. A test is tried once.
 */
export async function postEvent(
  queries: Queries,
  event: FiredEvent,
  recipients: readonly Recipient[],
  random: Random,
): Promise<string[]> {
  const eventSeq = await insertEvent(queries, event);
  const { partId, triggerName, isTest } = event;
  const at = event.at.getTime();
  const rows = recipients.map((recipient) => ({
    id: notificationId(isTest, random),
    event_seq: eventSeq,
    part_id: partId,
    trigger_name: triggerName,
    type: recipient.type,
    target: recipient.target,
    credentials: recipient.credentials ? JSON.stringify(recipient.credentials) : null,
    // A test does not wait for an endpoint that was away.
    endpoint: `${isTest ? "test " : ""}${endpointOf(recipient)}`,
    state: "pending" as const,
    attempts: 0,
    // At once, also when the clock is set back meanwhile.
    next_attempt_at: 0,
    expires_at: isTest ? 0 : event.triedUntilMs ?? at + TRY_FOR_MS,
    created_at: at,
    finished_at: null,
    status_code: null,
    error: "",
  }));
  await queries.insertInto("deliveries").values(rows).execute();
  return rows.map(({ id }) => id);
}

/** What distinguishes one notification from all others, at every attempt. */
function notificationId(isTest: boolean, random: Random): string {
  return `${isTest ? "test" : "msg"}_${random.uuid().replaceAll("-", "")}`;
}

/** What shares a queue: notifications to one receiver, whatever the query of its URL says. */
function endpointOf({ type, target }: Pick<Recipient, "type" | "target">): string {
  if (type === "email") return MAIL_ENDPOINT;
  const url = new URL(target);
  return `${url.origin}${url.pathname}`.slice(0, LONGEST_ENDPOINT);
}

async function insertEvent(queries: Queries, event: FiredEvent): Promise<number> {
  const { seq } = await queries.insertInto("trigger_events").values({
    part_id: event.partId,
    trigger_name: event.triggerName,
    trigger_type: event.triggerType,
    component_name: event.componentName ?? null,
    method_name: event.methodName ?? null,
    created_at: event.at.getTime(),
    is_test: event.isTest ? 1 : 0,
    facts: JSON.stringify(event.facts),
    evaluation: JSON.stringify(event.evaluation),
  }).returning("seq").executeTakeFirstOrThrow();
  return seq;
}
