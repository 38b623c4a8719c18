import type { Selectable } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { notFound } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type {
  DeliveriesTable,
  DeliveryAttemptsTable,
  TriggerEventsTable,
} from "../../storage/database/trigger_schema.ts";
import { TRY_FOR_MS } from "./retry_policy.ts";

/** A notification with its event and its attempts. */
export interface LoggedDelivery {
  readonly delivery: Selectable<DeliveriesTable>;
  readonly event: Selectable<TriggerEventsTable>;
  /** Oldest first. */
  readonly attempts: readonly Selectable<DeliveryAttemptsTable>[];
}

export interface DeliveryLogQuery {
  /** Undefined: of all triggers of the part. */
  readonly triggerName?: string | undefined;
  /** Only those with a number below this. */
  readonly below?: number | undefined;
  /** Only these. */
  readonly ids?: readonly string[] | undefined;
  readonly limit: number;
}

/** What became of notifications. */
export class DeliveryLog {
  /** @param strict by it what is sent again expires: the later time where clocks disagree */
  constructor(private readonly queries: Queries, private readonly strict: Clock) {}

  /** Newest first. */
  async list(partId: string, query: DeliveryLogQuery): Promise<LoggedDelivery[]> {
    let select = this.queries.selectFrom("deliveries").selectAll().where("part_id", "=", partId)
      .orderBy("seq", "desc").limit(query.limit);
    if (query.triggerName !== undefined) {
      select = select.where("trigger_name", "=", query.triggerName);
    }
    if (query.below !== undefined) select = select.where("seq", "<", query.below);
    if (query.ids !== undefined) select = select.where("id", "in", [...query.ids]);
    const deliveries = await select.execute();
    if (deliveries.length === 0) return [];
    const events = await this.queries.selectFrom("trigger_events").selectAll()
      .where("seq", "in", [...new Set(deliveries.map((row) => row.event_seq))]).execute();
    const attempts = await this.queries.selectFrom("delivery_attempts").selectAll()
      .where("delivery_seq", "in", deliveries.map((row) => row.seq)).orderBy("number").execute();
    const eventBySeq = new Map(events.map((event) => [event.seq, event]));
    return deliveries.flatMap((delivery) => {
      const event = eventBySeq.get(delivery.event_seq);
      const own = attempts.filter((attempt) => attempt.delivery_seq === delivery.seq);
      return event ? [{ delivery, event, attempts: own }] : [];
    });
  }

  /** The part that a notification is of. */
  async partOf(id: string): Promise<string | undefined> {
    const row = await this.queries.selectFrom("deliveries").select("part_id").where("id", "=", id)
      .executeTakeFirst();
    return row?.part_id;
  }

  /** Makes a notification wait again, for another 24 hours. Throws NOT_FOUND. */
  async replay(partId: string, id: string): Promise<void> {
    const result = await this.queries.updateTable("deliveries").set({
      state: "pending",
      next_attempt_at: 0,
      expires_at: this.strict.now().getTime() + TRY_FOR_MS,
      finished_at: null,
    }).where("part_id", "=", partId).where("id", "=", id).executeTakeFirst();
    if (result.numUpdatedRows === 0n) throw notFound("delivery", id);
  }

  /** How many notifications of each trigger wait. */
  async waiting(partIds: readonly string[]): Promise<Map<string, number>> {
    if (partIds.length === 0) return new Map();
    const rows = await this.queries.selectFrom("deliveries")
      .select(["part_id", "trigger_name", (eb) => eb.fn.countAll<number>().as("count")])
      .where("part_id", "in", [...partIds]).where("state", "=", "pending")
      .groupBy(["part_id", "trigger_name"]).execute();
    return new Map(rows.map((row) => [`${row.part_id} ${row.trigger_name}`, row.count]));
  }
}
