import type { JsonObject } from "@bufbuild/protobuf";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { ALL_OWNERS } from "../../../shared/config/checks/triggers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { TriggerType } from "../../storage/database/trigger_schema.ts";
import { postEvent, type Recipient } from "../delivery/outbox.ts";
import { MOST_WAITING_PER_TRIGGER } from "../delivery/deliverer.ts";
import { TRY_FOR_MS } from "../delivery/retry_policy.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { NamedPart, Occurred } from "../events/facts.ts";
import { ownersOf } from "./owners.ts";
import type { NotificationDefinition, TriggerDefinition } from "./trigger_definition.ts";

/** Why a trigger fires, and what its receivers are notified of. */
export interface Occurrence {
  readonly at: Date;
  readonly componentName?: string | undefined;
  readonly methodName?: string | undefined;
  /** What happened; called only when somebody is notified. */
  readonly facts: () => Occurred;
  readonly evaluation: () => JsonObject;
}

/** What came of it. */
export interface Fired {
  /** Notifications that are on their way. */
  readonly posted: number;
  /** Left out, because the ones before are too recent. */
  readonly suppressed: number;
  /** Left out, because too many wait. */
  readonly overflowed: number;
}

export interface FiringOptions {
  readonly random: Random;
  /** Where the host's clock jumped, the later of both times: none expires too early. */
  readonly strict: Pick<Clock, "now">;
  /** Notifications of a trigger that wait. */
  readonly waitingOf: (partId: string, triggerName: string) => number;
  /** A trigger's log has grown. */
  readonly posted: (partId: string, triggerName: string) => void;
}

const UNPACED: ReadonlySet<TriggerType> = new Set([
  "part_online",
  "part_offline",
  "conditional_logs_ingested",
]);

/** Puts what a trigger has to say into the outbox, within a transaction of the caller's. */
export class Firing {
  constructor(private readonly options: FiringOptions) {}

  async fire(
    queries: Queries,
    partId: string,
    trigger: TriggerDefinition,
    occurrence: Occurrence,
  ): Promise<Fired> {
    if (this.options.waitingOf(partId, trigger.name) >= MOST_WAITING_PER_TRIGGER) {
      return { posted: 0, suppressed: 0, overflowed: trigger.notifications.length };
    }
    const due = await this.#due(queries, partId, trigger, occurrence.at);
    const suppressed = trigger.notifications.length - due.length;
    if (due.length === 0) return { posted: 0, suppressed, overflowed: 0 };
    const part = await namedPart(queries, partId);
    if (!part) return { posted: 0, suppressed, overflowed: 0 };
    const recipients = await recipientsOf(queries, part, due);
    if (recipients.length === 0) return { posted: 0, suppressed, overflowed: 0 };
    const { at, componentName, methodName } = occurrence;
    await postEvent(
      queries,
      {
        partId,
        triggerName: trigger.name,
        triggerType: trigger.type,
        componentName,
        methodName,
        at,
        triedUntilMs: this.options.strict.now().getTime() + TRY_FOR_MS,
        isTest: false,
        facts: { part, occurred: occurrence.facts() },
        evaluation: occurrence.evaluation(),
      },
      recipients,
      this.options.random,
    );
    this.options.posted(partId, trigger.name);
    return { posted: recipients.length, suppressed, overflowed: 0 };
  }

  /** Those whose spacing has passed; they are recorded as notified. */
  async #due(
    queries: Queries,
    partId: string,
    trigger: TriggerDefinition,
    at: Date,
  ): Promise<readonly NotificationDefinition[]> {
    // Every transition is notified, however soon after the one before; logs have a rate of their
    // own.
    if (UNPACED.has(trigger.type)) return trigger.notifications;
    const paced = trigger.notifications.filter(({ spacingMs }) => spacingMs > 0);
    if (paced.length === 0) return trigger.notifications;
    const rows = await queries.selectFrom("notification_paces").select(["notification", "last_at"])
      .where("part_id", "=", partId).where("trigger_name", "=", trigger.name).execute();
    const lastAt = new Map(rows.map((row) => [row.notification, row.last_at]));
    const nowMs = at.getTime();
    // A last time in the future comes from a clock that was set back.
    const isEarly = ({ key, spacingMs }: NotificationDefinition) => {
      const last = lastAt.get(key);
      return last !== undefined && last <= nowMs && nowMs - last < spacingMs;
    };
    const due = trigger.notifications.filter((one) => one.spacingMs === 0 || !isEarly(one));
    for (const { key } of due.filter(({ spacingMs }) => spacingMs > 0)) {
      await queries.insertInto("notification_paces").values({
        part_id: partId,
        trigger_name: trigger.name,
        notification: key,
        last_at: nowMs,
      }).onConflict((conflict) =>
        conflict.columns(["part_id", "trigger_name", "notification"]).doUpdateSet({
          last_at: nowMs,
        })
      ).execute();
    }
    return due;
  }
}

/** The names that receivers see, as they are now. */
export async function namedPart(queries: Queries, partId: string): Promise<NamedPart | undefined> {
  return await queries.selectFrom("parts")
    .innerJoin("machines", "machines.id", "parts.machine_id")
    .innerJoin("locations", "locations.id", "parts.location_id")
    .innerJoin("organizations", "organizations.id", "parts.org_id")
    .select([
      "parts.id as partId",
      "parts.name as partName",
      "machines.id as machineId",
      "machines.name as machineName",
      "locations.id as locationId",
      "locations.name as locationName",
      "organizations.id as organizationId",
      "organizations.name as organizationName",
    ])
    .where("parts.id", "=", partId).executeTakeFirst();
}

/** Each receiver once: owners may be named individually, too. */
export async function recipientsOf(
  queries: Queries,
  part: NamedPart,
  notifications: readonly NotificationDefinition[],
): Promise<Recipient[]> {
  const recipients = new Map<string, Recipient>();
  const add = (recipient: Recipient) => {
    const key = `${recipient.type} ${recipient.target}`;
    if (!recipients.has(key)) recipients.set(key, recipient);
  };
  for (const { recipient } of notifications) {
    if (recipient !== ALL_OWNERS) {
      add(recipient);
      continue;
    }
    for (const target of await ownersOf(queries, part)) {
      add({ type: "email", target, credentials: undefined });
    }
  }
  return [...recipients.values()];
}
