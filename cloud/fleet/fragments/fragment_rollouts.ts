import { sql, type Transaction } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { CloudTables } from "../../storage/database/schema.ts";
import {
  type AffectedPart,
  type ResolvedPart,
  RolloutResolver,
  type RolloutRow,
  writeBatch,
} from "./rollout_batch.ts";

export interface FragmentRolloutsOptions {
  readonly queries: Queries;
  readonly engine: CloudDatabase["engine"];
  /**
   * Need not wait for the disk: what a power cut takes back is brought to the parts once more.
   * Left out: an ordinary transaction.
   */
  readonly transact?: CloudDatabase["quickTransaction"];
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Parts that get a change of a fragment at once: as many as may be written in {@link BATCH_MS}, and
 * no more than may be notified of it at once.
 */
const LARGEST_BATCH = 100;
/** With PostgreSQL a batch mostly waits for answers, so that a smaller one takes as long. */
const SMALLEST_BATCH = { sqlite: 10, postgres: 50 };
/** With SQLite nothing else is served while a batch is written, with PostgreSQL nothing else saved. */
const BATCH_MS = { sqlite: 30, postgres: 200 };
/** Configurations that nobody has are deleted so many at a time. */
const SWEPT_AT_ONCE = 50;
/** How often to look for what another process saved. */
const POLL_MS = 1_000;
/**
 * Notes that all parts with a fragment get it again. Call it in the transaction that changes it.
 */
export async function startRollout(
  queries: Queries,
  fragmentId: string,
  actor: Actor,
  now: Date,
): Promise<void> {
  // The new one begins at the first part and so covers what the older ones have left.
  await queries.deleteFrom("fragment_rollouts").where("fragment_id", "=", fragmentId).execute();
  await queries.insertInto("fragment_rollouts").values({
    fragment_id: fragmentId,
    after_part_id: "",
    saved_by_type: actor.type,
    saved_by: actor.id,
    created_at: now.getTime(),
  }).execute();
}

/**
 * Brings changes of fragments to the parts that include them, some dozens at a time: each
 * configuration is resolved once, however many parts have it, and each part gets a revision of its
 * own. What is left when the program ends continues when it starts again.
 */
export class FragmentRollouts {
  #resolver: RolloutResolver | undefined;
  #resolverOf = 0;
  #batchSize: number;
  #running: Promise<void> = Promise.resolve();
  readonly #begun = new Watched(undefined);

  constructor(private readonly options: FragmentRolloutsOptions) {
    this.#batchSize = SMALLEST_BATCH[options.engine];
  }

  /** Brings what waits to as many parts as one batch has; {@link run} continues with the rest. */
  async begin(): Promise<void> {
    await this.#step();
    this.#begun.value = undefined;
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const turn = async () => {
      while (!signal.aborted && await this.#step());
      return POLL_MS;
    };
    const onFailure = (error: unknown) =>
      log.error("cannot bring a change of a fragment to its machines; retrying", {
        event: "fragment_change_failed",
        error: String(error),
      });
    const waits = { clock, intervalMs: POLL_MS, changes: [this.#begun], onFailure };
    await pollLoop(turn, waits, signal);
  }

  /** For those that have no {@link run}: works until nothing is left. */
  async finish(): Promise<void> {
    while (await this.#step());
  }

  /** One batch of the oldest rollout; whether there was any. One after the other. */
  #step(): Promise<boolean> {
    const step = this.#running.then(() => this.#batch());
    this.#running = step.then(() => {}, () => {});
    return step;
  }

  async #batch(): Promise<boolean> {
    const { queries, engine, changes, clock } = this.options;
    const transact = this.options.transact ??
      ((work: (transaction: Transaction<CloudTables>) => Promise<void>) =>
        queries.transaction().execute(work));
    const rollout = await queries.selectFrom("fragment_rollouts").selectAll().orderBy("seq")
      .limit(1).executeTakeFirst();
    if (!rollout) return false;
    const size = this.#batchSize;
    const parts = await this.#affected(queries, rollout, size);
    await letOthersWork();
    const batch = await this.#resolverFor(rollout).resolve(parts);
    const last = parts.length === size ? parts.at(-1) : undefined;
    await transact(async (transaction) => {
      const startedMs = clock.monotonicMs();
      await this.#write(transaction, rollout, batch, last?.id);
      this.#batchSize = nextSize(size, clock.monotonicMs() - startedMs, engine);
    });
    // Those who are notified send requests for what changed.
    await letOthersWork();
    await changes.drain();
    await letOthersWork();
    if (!last) await this.#sweep();
    return true;
  }

  #resolverFor({ seq }: RolloutRow): RolloutResolver {
    const { queries, clock } = this.options;
    if (this.#resolver && this.#resolverOf === seq) return this.#resolver;
    this.#resolverOf = seq;
    this.#resolver = new RolloutResolver(queries, clock);
    return this.#resolver;
  }

  /** @param lastId undefined: the rollout has reached every part */
  async #write(
    queries: Queries,
    rollout: RolloutRow,
    batch: readonly ResolvedPart[],
    lastId: string | undefined,
  ): Promise<void> {
    const { seq } = rollout;
    const current = await queries.selectFrom("fragment_rollouts").select("seq")
      .where("seq", "=", seq).where("after_part_id", "=", rollout.after_part_id)
      .executeTakeFirst();
    // The fragment was saved again since, and another rollout begins at the first part; or another
    // process has brought it to these parts.
    if (!current) return;
    await writeBatch(queries, rollout, batch, this.options.clock.now().getTime());
    faultPoint("fragment.rollout.after-parts");
    if (lastId !== undefined) {
      await queries.updateTable("fragment_rollouts").set({ after_part_id: lastId })
        .where("seq", "=", seq).execute();
      return;
    }
    await queries.deleteFrom("fragment_rollouts").where("seq", "=", seq).execute();
    this.#resolver = undefined;
  }

  async #affected(
    queries: Queries,
    rollout: RolloutRow,
    size: number,
  ): Promise<AffectedPart[]> {
    return await queries.selectFrom("parts")
      .innerJoin("part_revisions", (join) =>
        join.onRef("part_revisions.part_id", "=", "parts.id")
          .onRef("part_revisions.number", "=", "parts.revision_number"))
      .leftJoin("part_resolved", "part_resolved.part_id", "parts.id")
      .leftJoin("resolved_configs", "resolved_configs.hash", "part_resolved.hash")
      .select(["parts.id", "parts.org_id", "parts.revision_number", "part_revisions.config"])
      .select(["part_resolved.hash", "resolved_configs.config as resolved"])
      .where(
        "parts.id",
        "in",
        queries.selectFrom("part_fragments").select("part_fragments.part_id").distinct()
          .where("part_fragments.fragment_id", "=", rollout.fragment_id)
          .where("part_fragments.part_id", ">", rollout.after_part_id)
          .orderBy("part_fragments.part_id").limit(size),
      )
      .orderBy("parts.id").execute();
  }

  /** Deletes results that no part has any more, some at a time: saves leave theirs. */
  async #sweep(): Promise<void> {
    const { queries } = this.options;
    while (true) {
      const { rows } = await sql<{ hash: string }>`
        SELECT hash FROM resolved_configs WHERE NOT EXISTS
          (SELECT 1 FROM part_resolved WHERE part_resolved.hash = resolved_configs.hash)
        LIMIT ${SWEPT_AT_ONCE}`.execute(queries);
      if (rows.length === 0) return;
      // A save may have taken one of them since.
      await sql`DELETE FROM resolved_configs
        WHERE hash IN (SELECT value FROM json_each(${JSON.stringify(rows.map(({ hash }) => hash))}))
          AND NOT EXISTS
            (SELECT 1 FROM part_resolved WHERE part_resolved.hash = resolved_configs.hash)`
        .execute(queries);
      await letOthersWork();
    }
  }
}

function nextSize(size: number, tookMs: number, engine: CloudDatabase["engine"]): number {
  const mayMs = BATCH_MS[engine];
  const next = tookMs > mayMs ? size / 2 : tookMs < mayMs / 2 ? size * 2 : size;
  return Math.round(Math.min(LARGEST_BATCH, Math.max(SMALLEST_BATCH[engine], next)));
}
