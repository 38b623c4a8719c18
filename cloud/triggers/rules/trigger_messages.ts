import { create, type JsonObject, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { timestampFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Selectable } from "kysely";
import {
  type Comparison,
  ComparisonSchema,
  type Delivery,
  DeliverySchema,
  DeliveryState,
  type NotificationFailureSchema,
  type PastFiringsSchema,
  type Trigger,
  type TriggerCounts,
  TriggerCountsSchema,
  TriggerSchema,
} from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import type { FailedNotification } from "../delivery/last_failure.ts";
import type {
  DeliveryState as State,
  TriggerCountsTable,
} from "../../storage/database/trigger_schema.ts";
import { webhookText } from "../events/webhook_text.ts";
import type { LoggedDelivery } from "../delivery/delivery_log.ts";
import type { Explanation } from "./condition.ts";
import type { PastCounts } from "./past_counts.ts";
import type { TriggerEntry } from "./trigger_definition.ts";

const STATES: Readonly<Record<State, DeliveryState>> = {
  pending: DeliveryState.PENDING,
  delivered: DeliveryState.DELIVERED,
  failed: DeliveryState.FAILED,
};

/** What is known of a trigger of a part. */
export interface ListedTrigger {
  readonly partId: string;
  readonly partName: string;
  readonly machineId: string;
  readonly machineName: string;
  readonly entry: TriggerEntry;
  readonly problem: string;
  readonly counts: Selectable<TriggerCountsTable> | undefined;
  readonly waiting: number;
}

export function toTrigger({ entry, counts, waiting, ...rest }: ListedTrigger): Trigger {
  return create(TriggerSchema, {
    ...rest,
    name: entry.name,
    config: entry.config,
    disabled: entry.isDisabled,
    counts: toCounts(counts),
    waiting: BigInt(waiting),
  });
}

function toCounts(row: Selectable<TriggerCountsTable> | undefined): TriggerCounts {
  if (!row) return create(TriggerCountsSchema);
  const counts = create(TriggerCountsSchema, {
    syncs: BigInt(row.syncs),
    fired: BigInt(row.fired),
    incomparable: BigInt(row.incomparable),
    lastProblem: row.last_problem,
    suppressed: BigInt(row.suppressed),
    overflowed: BigInt(row.overflowed),
    lastSyncedAt: timestampFromMs(row.last_synced_at),
  });
  if (row.last_fired_at !== null) counts.lastFiredAt = timestampFromMs(row.last_fired_at);
  return counts;
}

export function toDelivery({ delivery, event, attempts }: LoggedDelivery): Delivery {
  const { headers, body } = webhookText(event.trigger_type, JSON.parse(event.facts));
  const message = create(DeliverySchema, {
    id: delivery.id,
    partId: delivery.part_id,
    triggerName: delivery.trigger_name,
    triggerType: event.trigger_type,
    type: delivery.type,
    target: delivery.target,
    state: STATES[delivery.state],
    createdAt: timestampFromMs(delivery.created_at),
    test: event.is_test === 1,
    headers,
    body,
    evaluation: JSON.parse(event.evaluation) as JsonObject,
    attempts: attempts.map((attempt) => ({
      startedAt: timestampFromMs(attempt.started_at),
      durationMs: BigInt(attempt.duration_ms),
      statusCode: attempt.status_code ?? 0,
      error: attempt.error,
      response: attempt.response,
    })),
  });
  if (delivery.state === "pending" && delivery.next_attempt_at > 0) {
    message.nextAttemptAt = timestampFromMs(delivery.next_attempt_at);
  }
  return message;
}

export function toComparison(explanation: Explanation): Comparison {
  const comparison = create(ComparisonSchema, {
    path: explanation.path,
    operator: explanation.operator,
    expected: toValue(explanation.expected),
    holds: explanation.outcome === "holds",
    problem: explanation.outcome === "incomparable" ? explanation.problem : "",
  });
  if (explanation.found !== undefined) comparison.found = toValue(explanation.found);
  return comparison;
}

function toValue(value: JsonValue) {
  return fromJson(ValueSchema, value);
}

export function toFailure(
  failed: FailedNotification,
): MessageInitShape<typeof NotificationFailureSchema> {
  return {
    time: timestampFromMs(failed.started_at),
    partId: failed.part_id,
    triggerName: failed.trigger_name,
    target: failed.target,
    error: failed.error,
  };
}

/** What a trigger would have done. */
export function toPast(
  { fired, uploads, readings, incomparable, oldestMs, isComplete }: PastCounts,
): MessageInitShape<typeof PastFiringsSchema> {
  return {
    fired: BigInt(fired),
    uploads: BigInt(uploads),
    readings: BigInt(readings),
    incomparable: BigInt(incomparable),
    complete: isComplete,
    ...(oldestMs === undefined ? {} : { oldest: timestampFromMs(oldestMs) }),
  };
}
