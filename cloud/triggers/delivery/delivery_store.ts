import { type Selectable, sql } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import type { DeliveriesTable, TriggerEventsTable } from "../../storage/database/trigger_schema.ts";
import type { AttemptOutcome } from "./retry_policy.ts";

/** A notification with everything that is needed to send it. */
export type DeliveryRow =
  & Selectable<DeliveriesTable>
  & Pick<
    Selectable<TriggerEventsTable>,
    "trigger_type" | "component_name" | "method_name" | "is_test" | "facts"
  >
  & {
    /** Of the signing secret; null: the first one. */
    readonly generation: number | null;
    readonly rotated_at: number | null;
  };

/** What is known of a notification that waits. */
export type PendingRow = Pick<
  Selectable<DeliveriesTable>,
  "seq" | "endpoint" | "next_attempt_at" | "part_id" | "trigger_name"
>;

/** An attempt that is over and has to be written down. */
export interface AttemptRecord {
  readonly seq: number;
  /** 1 is the first. */
  readonly number: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  /** When it is tried again; undefined: never. */
  readonly againMs: number | undefined;
}

/** Most that {@link DeliveryStore} gives at once of what waits. */
export const PENDING_PAGE = 5_000;

/** What the deliverer reads and writes. */
export class DeliveryStore {
  readonly #queries: Queries;

  constructor(private readonly database: Pick<CloudDatabase, "queries" | "quickTransaction">) {
    this.#queries = database.queries;
  }

  /** Notifications that wait, in the order they were made, after a number that is recent. */
  async pendingAfter(seq: number): Promise<PendingRow[]> {
    return await this.#pending().where("seq", ">", seq).orderBy("seq").limit(PENDING_PAGE)
      .execute();
  }

  /** The same after any number: it does not look through all that are over. */
  async allPendingAfter(seq: number): Promise<PendingRow[]> {
    // With a sign before it SQLite does not go by the number, but by the index of what waits.
    const bySign = sql<number>`+seq`;
    return await this.#pending().where(bySign, ">", seq).orderBy(bySign).limit(PENDING_PAGE)
      .execute();
  }

  /** Those of one endpoint, the most urgent first. */
  async pendingOf(endpoint: string): Promise<PendingRow[]> {
    return await this.#pending().where("endpoint", "=", endpoint)
      .orderBy("next_attempt_at").limit(PENDING_PAGE).execute();
  }

  async read(seqs: readonly number[]): Promise<DeliveryRow[]> {
    return await this.#queries.selectFrom("deliveries")
      .innerJoin("trigger_events", "trigger_events.seq", "deliveries.event_seq")
      .leftJoin(
        "trigger_secrets",
        (join) =>
          join.onRef("trigger_secrets.part_id", "=", "deliveries.part_id")
            .onRef("trigger_secrets.trigger_name", "=", "deliveries.trigger_name"),
      )
      .selectAll("deliveries")
      .select([
        "trigger_events.trigger_type",
        "trigger_events.component_name",
        "trigger_events.method_name",
        "trigger_events.is_test",
        "trigger_events.facts",
        "trigger_secrets.generation",
        "trigger_secrets.rotated_at",
      ])
      .where("deliveries.seq", "in", padded(seqs))
      .where("deliveries.state", "=", "pending")
      .execute();
  }

  /** Writes attempts down, all of them or none. After a power cut they may be made once more. */
  async record(records: readonly AttemptRecord[]): Promise<void> {
    await this.database.quickTransaction(async (transaction) => {
      for (const record of records) await recordOne(transaction, record);
      faultPoint("delivery.record.before-commit");
    });
    faultPoint("delivery.record.after-commit");
  }

  #pending() {
    return this.#queries.selectFrom("deliveries")
      .select(["seq", "endpoint", "next_attempt_at", "part_id", "trigger_name"])
      // Written out: the index is of these alone.
      .where("state", "=", sql.lit("pending" as const));
  }
}

async function recordOne(queries: Queries, record: AttemptRecord): Promise<void> {
  const { seq, number, startedAtMs, durationMs, outcome, againMs } = record;
  const finishedAt = startedAtMs + durationMs;
  const result = {
    status_code: outcome.statusCode ?? null,
    error: outcome.kind === "delivered" ? "" : outcome.error,
  };
  const { numUpdatedRows } = await queries.updateTable("deliveries").set({
    ...result,
    attempts: number,
    state: outcome.kind === "delivered"
      ? "delivered"
      : againMs === undefined
      ? "failed"
      : "pending",
    next_attempt_at: againMs ?? finishedAt,
    finished_at: againMs === undefined ? finishedAt : null,
  }).where("seq", "=", seq).where("state", "=", "pending").executeTakeFirstOrThrow();
  // Its part may have been deleted meanwhile, or another node have sent it.
  if (numUpdatedRows === 0n) return;
  await queries.insertInto("delivery_attempts").values({
    ...result,
    delivery_seq: seq,
    number,
    started_at: startedAtMs,
    duration_ms: durationMs,
    response: outcome.response,
  }).onConflict((conflict) => conflict.doNothing()).execute();
}

/** The same list made longer with its last entry, so that few different statements are prepared. */
function padded(seqs: readonly number[]): number[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, seqs.length)));
  return Array.from({ length }, (_, at) => seqs[at] ?? seqs.at(-1) ?? 0);
}
