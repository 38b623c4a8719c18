import type { JsonValue } from "@bufbuild/protobuf";
import type { Queries } from "../database/cloud_database.ts";
import type { NotificationType, TriggerType } from "../database/schema.ts";
import type { Random } from "../keys/random.ts";
import type { AttemptOutcome } from "./retry_policy.ts";
import { TRY_FOR_MS } from "./retry_policy.ts";
import type { WebhookCredentials } from "./webhook.ts";

/** What happened, as receivers are told it. */
export interface FiredEvent {
  readonly partId: string;
  readonly triggerName: string;
  readonly triggerType: TriggerType;
  readonly componentName: string | undefined;
  readonly methodName: string | undefined;
  readonly at: Date;
  readonly isTest: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; empty: the request has no body. */
  readonly body: string;
  /** Why it fired. */
  readonly evaluation: JsonValue;
}

/** Whom to tell. */
export interface Recipient {
  readonly type: NotificationType;
  /** URL without credentials, or one e-mail address. */
  readonly target: string;
  readonly credentials: WebhookCredentials | undefined;
}

/** A notification that was tried while somebody waited. */
export interface TriedRecipient extends Recipient {
  readonly id: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
}

/** What all mail shares as its queue: there is one mail server. */
export const MAIL_ENDPOINT = "mail";
const LONGEST_ENDPOINT = 500;

/**
 * Writes an event and its notifications. Call it in the transaction that writes what happened, and
 * wake the deliverer when that has been committed.
 */
export async function postEvent(
  queries: Queries,
  event: FiredEvent,
  recipients: readonly Recipient[],
  random: Random,
): Promise<void> {
  const eventSeq = await insertEvent(queries, event);
  const at = event.at.getTime();
  await queries.insertInto("deliveries").values(recipients.map((recipient) => ({
    ...rowOf(event, eventSeq, recipient, notificationId(random)),
    state: "pending" as const,
    attempts: 0,
    // At once, also when the clock is set back meanwhile.
    next_attempt_at: 0,
    expires_at: at + TRY_FOR_MS,
    finished_at: null,
    status_code: null,
    error: "",
  }))).execute();
}

/** Writes an event whose notifications have been tried once already, and are not tried again. */
export async function recordTest(
  queries: Queries,
  event: FiredEvent,
  tried: readonly TriedRecipient[],
): Promise<void> {
  const eventSeq = await insertEvent(queries, event);
  for (const recipient of tried) {
    const { outcome, startedAt, durationMs } = recipient;
    const startedAtMs = startedAt.getTime();
    const error = outcome.kind === "delivered" ? "" : outcome.error;
    const result = { status_code: outcome.statusCode ?? null, error };
    const { seq } = await queries.insertInto("deliveries").values({
      ...rowOf(event, eventSeq, recipient, recipient.id),
      ...result,
      state: outcome.kind === "delivered" ? "delivered" : "failed",
      attempts: 1,
      next_attempt_at: startedAtMs,
      expires_at: startedAtMs,
      finished_at: startedAtMs + durationMs,
    }).returning("seq").executeTakeFirstOrThrow();
    await queries.insertInto("delivery_attempts").values({
      delivery_seq: seq,
      number: 1,
      started_at: startedAtMs,
      duration_ms: durationMs,
      ...result,
      response: outcome.response,
    }).execute();
  }
}

/** What tells one notification from all others, at every attempt. */
export function notificationId(random: Random): string {
  return `msg_${random.uuid().replaceAll("-", "")}`;
}

/** What shares a queue: notifications to one receiver, whatever the query of its URL says. */
export function endpointOf({ type, target }: Pick<Recipient, "type" | "target">): string {
  if (type === "email") return MAIL_ENDPOINT;
  const url = new URL(target);
  return `${url.origin}${url.pathname}`.slice(0, LONGEST_ENDPOINT);
}

function rowOf(event: FiredEvent, eventSeq: number, recipient: Recipient, id: string) {
  return {
    id,
    event_seq: eventSeq,
    part_id: event.partId,
    trigger_name: event.triggerName,
    type: recipient.type,
    target: recipient.target,
    credentials: recipient.credentials ? JSON.stringify(recipient.credentials) : null,
    endpoint: endpointOf(recipient),
    created_at: event.at.getTime(),
  };
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
    headers: JSON.stringify(event.headers),
    body: event.body,
    evaluation: JSON.stringify(event.evaluation),
  }).returning("seq").executeTakeFirstOrThrow();
  return seq;
}
