import type { Clock } from "../../../shared/base/time/clock.ts";
import type { NotificationType, TriggerType } from "../../storage/database/trigger_schema.ts";
import type { EventFacts } from "../events/facts.ts";
import { webhookText } from "../events/webhook_text.ts";
import { mailContent } from "../mail/mail_text.ts";
import { type Mailer, MailError } from "../mail/mailer.ts";
import type { DeliveryRow } from "./delivery_store.ts";
import type { AttemptOutcome } from "./retry_policy.ts";
import { signedHeaders } from "./signature.ts";
import type { SecretGeneration, SigningSecrets } from "./signing_secrets.ts";
import type { WebhookCredentials, WebhookSender } from "./webhook.ts";

/** A notification as it is sent. */
export interface Notification {
  readonly id: string;
  readonly type: NotificationType;
  readonly target: string;
  readonly credentials: WebhookCredentials | undefined;
  readonly partId: string;
  readonly triggerName: string;
  readonly triggerType: TriggerType;
  readonly at: Date;
  readonly isTest: boolean;
  readonly facts: EventFacts;
  readonly secret: SecretGeneration;
}

export interface NotificationSenderOptions {
  readonly webhooks: WebhookSender;
  /** Undefined: the operator has set no mail server. */
  readonly mailer: Pick<Mailer, "send"> | undefined;
  readonly secrets: SigningSecrets;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

/** Sends notifications of both types, one attempt each. */
export class NotificationSender {
  constructor(private readonly options: NotificationSenderOptions) {}

  /** Rejects only when the signal aborts. */
  async send(notification: Notification, signal: AbortSignal): Promise<AttemptOutcome> {
    return notification.type === "webhook"
      ? await this.#webhook(notification, signal)
      : await this.#mail(notification, signal);
  }

  async #webhook(notification: Notification, signal: AbortSignal): Promise<AttemptOutcome> {
    const { id, partId, triggerName, triggerType, target, facts, credentials } = notification;
    const { headers, body } = webhookText(triggerType, facts);
    const { webhooks, secrets, clock } = this.options;
    const keys = secrets.signing(partId, triggerName, notification.secret);
    const isGet = triggerType === "part_online" || triggerType === "part_offline";
    return await webhooks.send({
      url: target,
      method: isGet ? "GET" : "POST",
      headers: {
        ...headers,
        ...(isGet ? {} : { "content-type": "application/json" }),
        ...signedHeaders(keys, { id, at: clock.now(), body }),
      },
      body,
      credentials,
    }, signal);
  }

  async #mail(notification: Notification, signal: AbortSignal): Promise<AttemptOutcome> {
    const { mailer, publicUrl } = this.options;
    if (!mailer) {
      const error = "no mail server is set; start the cloud with --smtp-url";
      return { kind: "final", error, response: "" };
    }
    const { facts, id, target, triggerName, triggerType, at, isTest } = notification;
    const machineUrl = `${publicUrl()}/?machine=${encodeURIComponent(facts.part.machineId)}`;
    const content = mailContent({ triggerName, triggerType, at, isTest, facts, machineUrl });
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const response = await Promise.race([
        mailer.send({ to: target, id, ...content }),
        aborted.promise,
      ]);
      return { kind: "delivered", statusCode: statusOf(response), response };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return ofMailError(error);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** A row of the outbox as it is sent. */
export function notificationOf(row: DeliveryRow): Notification {
  return {
    id: row.id,
    type: row.type,
    target: row.target,
    credentials: row.credentials === null ? undefined : JSON.parse(row.credentials),
    partId: row.part_id,
    triggerName: row.trigger_name,
    triggerType: row.trigger_type,
    at: new Date(row.created_at),
    isTest: row.is_test === 1,
    facts: JSON.parse(row.facts),
    secret: { generation: row.generation ?? 1, rotatedAtMs: row.rotated_at ?? undefined },
  };
}

function ofMailError(error: unknown): AttemptOutcome {
  if (!(error instanceof MailError)) throw error;
  const { isRetryable, isOfOneRecipient, statusCode, message } = error;
  return {
    kind: isRetryable ? "retryable" : "final",
    error: message,
    response: "",
    isOfOneRecipient,
    ...(statusCode === undefined ? {} : { statusCode }),
  };
}

/** What SMTP calls the code of an answer: its first three digits. */
function statusOf(response: string): number {
  return Number(/^\d{3}/.exec(response)?.[0] ?? 250);
}
