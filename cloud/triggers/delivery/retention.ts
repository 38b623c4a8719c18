import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** What is over is kept for so long. */
export const KEEP_DELIVERIES_MS = 30 * 24 * 60 * 60_000;
/** Of one trigger so many are kept, whatever their age; some more between two looks. */
export const KEPT_PER_TRIGGER = 1_000;
const LOOK_EVERY_MS = 60_000;
const SLICE = 200;
const PAUSE_MS = 5;

/** Keeps the delivery log from growing: old events go, and those of triggers that fire often. */
export class DeliveryRetention {
  /** Triggers with notifications since the last look. */
  readonly #busy = new Map<string, { partId: string; triggerName: string }>();

  constructor(
    private readonly queries: Queries,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** A trigger has fired. */
  fired(partId: string, triggerName: string): void {
    this.#busy.set(`${partId} ${triggerName}`, { partId, triggerName });
  }

  /** Looks every minute until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const intervalMs = LOOK_EVERY_MS;
    const onFailure = (error: unknown) =>
      this.log.error("cannot delete old notifications; retrying", {
        event: "cleanup_failed",
        error: String(error),
      });
    const waits = { clock: this.clock, intervalMs, firstMs: intervalMs, onFailure };
    await pollLoop(() => this.sweep(signal), waits, signal);
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const before = this.clock.now().getTime() - KEEP_DELIVERIES_MS;
    while (!signal?.aborted && await this.#deleteFinishedBefore(before) === SLICE) {
      await this.clock.sleep(PAUSE_MS);
    }
    for (const [key, { partId, triggerName }] of [...this.#busy]) {
      const oldest = await this.#oldestKept(partId, triggerName);
      while (!signal?.aborted && await this.#deleteUpTo(partId, triggerName, oldest) === SLICE) {
        await this.clock.sleep(PAUSE_MS);
      }
      if (signal?.aborted) return;
      this.#busy.delete(key);
    }
  }

  async #deleteFinishedBefore(before: number): Promise<number> {
    const rows = await this.#over().where("deliveries.finished_at", "is not", null)
      .where("deliveries.finished_at", "<", before)
      .orderBy("deliveries.finished_at").limit(SLICE).execute();
    return await this.#deleteEvents(rows);
  }

  /** The newest delivery that is over the number; undefined: none is. */
  async #oldestKept(partId: string, triggerName: string): Promise<number | undefined> {
    const row = await this.queries.selectFrom("deliveries").select("seq")
      .where("part_id", "=", partId).where("trigger_name", "=", triggerName)
      .orderBy("seq", "desc").offset(KEPT_PER_TRIGGER).limit(1).executeTakeFirst();
    return row?.seq;
  }

  async #deleteUpTo(partId: string, name: string, seq: number | undefined): Promise<number> {
    if (seq === undefined) return 0;
    const rows = await this.#over().where("deliveries.part_id", "=", partId)
      .where("deliveries.trigger_name", "=", name).where("deliveries.seq", "<=", seq)
      .orderBy("deliveries.seq").limit(SLICE).execute();
    return await this.#deleteEvents(rows);
  }

  /** Notifications of events none of which waits. */
  #over() {
    return this.queries.selectFrom("deliveries").select("deliveries.event_seq")
      .where("deliveries.state", "!=", "pending")
      .where(({ not, exists, selectFrom }) =>
        not(exists(
          selectFrom("deliveries as other").select("other.seq")
            .whereRef("other.event_seq", "=", "deliveries.event_seq")
            .where("other.state", "=", "pending"),
        ))
      );
  }

  async #deleteEvents(rows: readonly { event_seq: number }[]): Promise<number> {
    if (rows.length === 0) return 0;
    await this.queries.deleteFrom("trigger_events")
      .where("seq", "in", [...new Set(rows.map((row) => row.event_seq))]).execute();
    return rows.length;
  }
}
