import { sql } from "kysely";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { CloudDatabase, Queries } from "./cloud_database.ts";
import type { ChangeKind } from "./schema.ts";

/** One thing that changed. */
export interface Change {
  readonly orgId: string;
  /** Undefined: every part of the organisation. */
  readonly partId: string | undefined;
  readonly kind: ChangeKind;
}

const POLL_MS = 250;
const KEEP_MS = 24 * 60 * 60_000;
const PRUNE_EVERY_MS = 60 * 60_000;

/**
 * Notes a change. Call it in the transaction that makes the change. Who may do what in an
 * organisation concerns those, too, that share locations with it.
 */
export async function recordChange(queries: Queries, change: Change, now: Date): Promise<void> {
  await queries.insertInto("changes").values({
    org_id: change.orgId,
    part_id: change.partId ?? null,
    kind: change.kind,
    created_at: now.getTime(),
  }).execute();
  if (change.kind !== "access" || change.partId !== undefined) return;
  await sql`
    INSERT INTO changes (org_id, part_id, kind, created_at)
    SELECT DISTINCT locations.org_id, CAST(NULL AS TEXT), 'access',
        CAST(${now.getTime()} AS BIGINT)
      FROM location_shares JOIN locations ON locations.id = location_shares.location_id
      WHERE location_shares.org_id = ${change.orgId}`.execute(queries);
}

/**
 * Reports what changed in the database, once and in order: what this process saved as soon as it
 * calls {@link ChangeFeed.drain}, what others saved within about a quarter of a second.
 */
export class ChangeFeed {
  readonly #listeners = new Set<(change: Change) => void>();
  #seen = 0;
  #foreignVersion = 0;
  #running: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #pruneAtMs = 0;
  #closed = false;
  #listening: Disposable | undefined;

  constructor(
    private readonly database: CloudDatabase,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Starts with what happens from now on. */
  async start(): Promise<void> {
    this.#foreignVersion = this.database.foreignVersion();
    const row = await this.database.queries.selectFrom("changes")
      .select((eb) => eb.fn.max("seq").as("seq")).executeTakeFirst();
    this.#seen = row?.seq ?? 0;
    this.#pruneAtMs = this.clock.monotonicMs() + PRUNE_EVERY_MS;
    this.#listening = this.database.listen(() => void this.drain());
    this.#schedule();
  }

  /** Calls `listener` with every change; the returned function ends that. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the listeners of everything new. Resolves when they have been called. */
  drain(): Promise<void> {
    this.#running = this.#running.then(() => this.#drain());
    return this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#listening?.[Symbol.dispose]();
    await this.#running;
  }

  async #drain(): Promise<void> {
    if (this.#closed) return;
    try {
      const rows = await this.database.queries.selectFrom("changes").selectAll()
        .where("seq", ">", this.#seen).orderBy("seq").execute();
      for (const row of rows) {
        this.#seen = row.seq;
        const change = { orgId: row.org_id, partId: row.part_id ?? undefined, kind: row.kind };
        for (const listener of this.#listeners) listener(change);
      }
    } catch (error) {
      this.log.error("cannot read what changed; retrying", {
        event: "change_feed_failed",
        error: String(error),
      });
    }
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = this.clock.setTimer(POLL_MS, () => {
      this.#poll().finally(() => this.#schedule());
    });
  }

  async #poll(): Promise<void> {
    try {
      const version = this.database.foreignVersion();
      if (version !== this.#foreignVersion) {
        this.#foreignVersion = version;
        await this.drain();
      }
      if (this.clock.monotonicMs() >= this.#pruneAtMs) await this.#prune();
    } catch (error) {
      this.log.error("cannot look for changes; retrying", {
        event: "change_feed_failed",
        error: String(error),
      });
    }
  }

  async #prune(): Promise<void> {
    this.#pruneAtMs = this.clock.monotonicMs() + PRUNE_EVERY_MS;
    const before = this.clock.now().getTime() - KEEP_MS;
    await this.database.queries.deleteFrom("changes")
      .where("created_at", "<", before).where("seq", "<=", this.#seen).execute();
  }
}
