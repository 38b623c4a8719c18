import { sql } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import {
  type ConfigDocument,
  parseDocument,
  summarizeDiff,
} from "../configuration/config_document.ts";
import { FragmentProblem } from "./fragment_problem.ts";
import { keepResolution, type PartResolution, resolveFor } from "./part_resolution.ts";

export interface FragmentRolloutsOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Parts that get a change of a fragment at once: as many as {@link BATCH_MS} lasts for. */
const SMALLEST_BATCH = 50;
const LARGEST_BATCH = 500;
/** Nothing else is served while a batch is written. */
const BATCH_MS = 50;
/** Between two batches: their machines ask for their configurations meanwhile. */
const PAUSE_MS = 5;
/** How often to look for what another process saved. */
const POLL_MS = 1_000;
/** Different configurations whose results are kept during one rollout. */
const KEPT_RESULTS = 100;

interface RolloutRow {
  readonly seq: number;
  readonly fragment_id: string;
  readonly after_part_id: string;
  readonly saved_by_type: Actor["type"];
  readonly saved_by: string;
}

interface AffectedPart {
  readonly id: string;
  readonly org_id: string;
  readonly config: string;
  readonly hash: string | null;
}

type Result = PartResolution | FragmentProblem | undefined;

/** Notes that all parts with a fragment get it anew. Call it in the transaction that changes it. */
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
 * Brings changes of fragments to the parts that include them, some hundred at a time: each
 * configuration is resolved once, however many parts have it, and each part gets a revision of its
 * own. What is left when the program ends goes on when it starts again.
 */
export class FragmentRollouts {
  #results = new Map<string, Result>();
  #resultsOf = 0;
  #batchSize = SMALLEST_BATCH;
  #running: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};

  constructor(private readonly options: FragmentRolloutsOptions) {}

  /** Brings what waits to as many parts as one batch has; {@link run} goes on with the rest. */
  async begin(): Promise<void> {
    await this.#step();
    this.#wake();
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    while (!signal.aborted) {
      let worked = false;
      try {
        worked = await this.#step();
      } catch (error) {
        log.error("cannot bring a change of a fragment to its machines; trying again", {
          error: String(error),
        });
      }
      await this.#pause(clock, worked ? PAUSE_MS : POLL_MS, signal);
    }
  }

  /** For those that have no {@link run}: works until nothing is left. */
  async finish(): Promise<void> {
    while (await this.#step());
  }

  #pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        signal.removeEventListener("abort", done);
        this.#wake = () => {};
        resolve();
      };
      const timer = clock.setTimer(ms, done);
      signal.addEventListener("abort", done);
      if (ms === POLL_MS) this.#wake = done;
      if (signal.aborted) done();
    });
  }

  /** One batch of the oldest rollout; whether there was any. One after the other. */
  #step(): Promise<boolean> {
    const step = this.#running.then(() => this.#batch());
    this.#running = step.then(() => {}, () => {});
    return step;
  }

  async #batch(): Promise<boolean> {
    const { queries, changes, clock } = this.options;
    const waiting = await queries.selectFrom("fragment_rollouts").select("seq").limit(1)
      .executeTakeFirst();
    if (!waiting) return false;
    const done = await queries.transaction().execute(async (transaction) => {
      const startedMs = clock.monotonicMs();
      const size = this.#batchSize;
      const isDone = await this.#inTransaction(transaction, size);
      this.#batchSize = nextSize(size, clock.monotonicMs() - startedMs);
      return isDone;
    });
    await changes.drain();
    if (done) await this.#sweep();
    return true;
  }

  /** Whether the rollout has reached every part. */
  async #inTransaction(queries: Queries, size: number): Promise<boolean> {
    const rollout = await queries.selectFrom("fragment_rollouts").selectAll().orderBy("seq")
      .executeTakeFirst();
    if (!rollout) return true;
    if (this.#resultsOf !== rollout.seq) this.#results.clear();
    this.#resultsOf = rollout.seq;
    const parts = await this.#affected(queries, rollout, size);
    const groups = Map.groupBy(parts, ({ org_id, hash, config }) => `${org_id} ${hash} ${config}`);
    for (const group of groups.values()) await this.#update(queries, rollout, group);
    faultPoint("fragment.rollout.after-parts");
    const last = parts.at(-1);
    if (last && parts.length === size) {
      await queries.updateTable("fragment_rollouts").set({ after_part_id: last.id })
        .where("seq", "=", rollout.seq).execute();
      return false;
    }
    await queries.deleteFrom("fragment_rollouts").where("seq", "=", rollout.seq).execute();
    return true;
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
      .select(["parts.id", "parts.org_id", "part_revisions.config", "part_resolved.hash"])
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

  /** Parts with the same configuration and the same result so far. */
  async #update(
    queries: Queries,
    rollout: RolloutRow,
    parts: readonly AffectedPart[],
  ): Promise<void> {
    const [first] = parts;
    if (!first) return;
    const ids = parts.map(({ id }) => id);
    const result = await this.#resolve(queries, first);
    if (result instanceof FragmentProblem) {
      await queries.updateTable("part_resolved").set({ problem: result.message })
        .where("part_id", "in", ids).execute();
      return;
    }
    if (result && result.hash !== first.hash) {
      await this.#addRevisions(queries, rollout, ids, first.hash, result);
    }
    await keepResolution(queries, ids, result);
  }

  async #addRevisions(
    queries: Queries,
    { saved_by_type, saved_by }: RolloutRow,
    ids: readonly string[],
    hashBefore: string | null,
    { document, hash }: PartResolution,
  ): Promise<void> {
    const now = this.options.clock.now().getTime();
    const before = hashBefore === null ? undefined : await queries.selectFrom("resolved_configs")
      .select("config").where("hash", "=", hashBefore).executeTakeFirst();
    const diff = diffOf(before && parseDocument(before.config), document);
    await queries.updateTable("parts")
      .set((eb) => ({ revision_number: eb("revision_number", "+", 1) }))
      .where("id", "in", ids).execute();
    const list = sql.join([...ids]);
    await sql`
      INSERT INTO part_revisions (part_id, number, revision, part_name, config, saved_at,
        saved_by_type, saved_by, diff, saved_how)
      SELECT parts.id, parts.revision_number, parts.revision_number || '-' || ${hash.slice(0, 8)},
        parts.name, before.config, ${now}, ${saved_by_type}, ${saved_by}, ${diff}, 'fragment'
      FROM parts JOIN part_revisions AS before
        ON before.part_id = parts.id AND before.number = parts.revision_number - 1
      WHERE parts.id IN (${list})`.execute(queries);
    await sql`
      INSERT INTO changes (org_id, part_id, kind, created_at)
      SELECT org_id, id, 'config', ${now} FROM parts WHERE id IN (${list})`.execute(queries);
  }

  async #resolve(queries: Queries, part: AffectedPart): Promise<Result> {
    const key = `${part.org_id} ${part.config}`;
    if (this.#results.has(key)) return this.#results.get(key);
    let result: Result;
    try {
      result = await resolveFor(queries, part.org_id, parseDocument(part.config));
    } catch (error) {
      if (!(error instanceof FragmentProblem)) throw error;
      result = error;
    }
    const [oldest] = this.#results.keys();
    if (oldest !== undefined && this.#results.size >= KEPT_RESULTS) this.#results.delete(oldest);
    this.#results.set(key, result);
    return result;
  }

  /** Deletes results that no part has any more. */
  async #sweep(): Promise<void> {
    const { queries } = this.options;
    await queries.deleteFrom("resolved_configs")
      .where("hash", "not in", queries.selectFrom("part_resolved").select("hash")).execute();
  }
}

function nextSize(size: number, tookMs: number): number {
  const next = tookMs > BATCH_MS ? size / 2 : tookMs < BATCH_MS / 2 ? size * 2 : size;
  return Math.round(Math.min(LARGEST_BATCH, Math.max(SMALLEST_BATCH, next)));
}

function diffOf(before: ConfigDocument | undefined, after: ConfigDocument): string {
  return JSON.stringify(summarizeDiff(before?.value ?? {}, after.value));
}
