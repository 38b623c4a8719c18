import { Code, type ConnectError } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Program, ReleaseOutcomesTable } from "../../storage/database/release_schema.ts";
import type { RolloutLimits } from "./checks.ts";
import type { KnownRelease } from "./known_release.ts";
import type { ReleaseCatalogue } from "./release_catalogue.ts";
import { isNews, type Outcome, whyStop } from "./rollout_rules.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type OutcomeRow = Selectable<ReleaseOutcomesTable>;

export interface RolloutStoreOptions {
  readonly queries: Queries;
  readonly catalogue: ReleaseCatalogue;
  readonly clock: Clock;
}

/** Who gets which release, and what came of it. */
export class RolloutStore {
  constructor(private readonly options: RolloutStoreOptions) {}

  /** Sets who gets a release; undefined: everybody on its channel. */
  async set(release: KnownRelease, limits: RolloutLimits | undefined): Promise<void> {
    const { queries, catalogue, clock } = this.options;
    await queries.transaction().execute(async (transaction) => {
      if (limits) return await writeRollout(transaction, release, limits, clock.now());
      await transaction.deleteFrom("rollouts").where("release_id", "=", release.id).execute();
    });
    catalogue.changed();
  }

  async pause(release: KnownRelease): Promise<void> {
    const changed_at = this.options.clock.now().getTime();
    await this.#update(release, { state: "paused", reason: "", changed_at });
  }

  /** Resumes. What came of it until now does not stop it any more. */
  async resume(release: KnownRelease): Promise<void> {
    const now = this.options.clock.now().getTime();
    await this.#update(release, {
      state: "running",
      reason: "",
      changed_at: now,
      counted_since: now,
    });
  }

  /** What came of a release, by part. */
  async outcomes(releaseId: string): Promise<OutcomeRow[]> {
    return await this.options.queries.selectFrom("release_outcomes").selectAll()
      .where("release_id", "=", releaseId).orderBy("at", "desc").orderBy("part_id").execute();
  }

  /**
   * Keeps what came of releases on a part, and stops the rollouts of which too many rolled back.
   *
   * @param told by the id of the release; undefined: nothing came of it, or nothing any more
   * @returns why which releases were stopped by this, by id.
   */
  async record(
    partId: string,
    told: ReadonlyMap<string, Outcome | undefined>,
  ): Promise<ReadonlyMap<string, string>> {
    const { queries, catalogue, clock } = this.options;
    const now = clock.now().getTime();
    const stopped = new Map<string, string>();
    await queries.transaction().execute(async (transaction) => {
      const rows = await transaction.selectFrom("release_outcomes").selectAll()
        .where("part_id", "=", partId).execute();
      const before = new Map(rows.map((row) => [row.release_id, row]));
      for (const [releaseId, outcome] of told) {
        const known = before.get(releaseId);
        if (!outcome) {
          // What was under way was called off; what came to an end stays known.
          if (known?.outcome === "updating") await forget(transaction, releaseId, partId);
          continue;
        }
        if (!isNews(known, outcome)) continue;
        const fields = { ...outcome, at: now };
        await transaction.insertInto("release_outcomes")
          .values({ release_id: releaseId, part_id: partId, ...fields })
          .onConflict((conflict) => conflict.columns(["release_id", "part_id"]).doUpdateSet(fields))
          .execute();
        const reason = outcome.outcome === "rolled back"
          ? await stopIfTooMany(transaction, releaseId, now)
          : undefined;
        if (reason !== undefined) stopped.set(releaseId, reason);
      }
    });
    if (stopped.size > 0) catalogue.changed();
    return stopped;
  }

  async #update(
    { id, program, version }: KnownRelease,
    fields: {
      state: "running" | "paused";
      reason: string;
      changed_at: number;
      counted_since?: number;
    },
  ): Promise<void> {
    const { queries, catalogue } = this.options;
    const { numUpdatedRows } = await queries.updateTable("rollouts").set(fields)
      .where("release_id", "=", id).executeTakeFirst();
    catalogue.changed();
    if (numUpdatedRows > 0n) return;
    throw noRollout(program, version);
  }
}

/** Sets who gets a release. Call it in a transaction. One that is paused or stopped stays so. */
export async function writeRollout(
  queries: Queries,
  release: Pick<KnownRelease, "id">,
  { percent, tags, stopPercent, stopMinimum }: RolloutLimits,
  now: Date,
): Promise<void> {
  const fields = {
    percent,
    tags: JSON.stringify(tags),
    stop_percent: stopPercent,
    stop_minimum: stopMinimum,
    changed_at: now.getTime(),
  };
  await queries.insertInto("rollouts").values({
    release_id: release.id,
    state: "running",
    reason: "",
    counted_since: now.getTime(),
    ...fields,
  }).onConflict((conflict) => conflict.column("release_id").doUpdateSet(fields)).execute();
}

async function forget(queries: Queries, releaseId: string, partId: string): Promise<void> {
  await queries.deleteFrom("release_outcomes")
    .where("release_id", "=", releaseId).where("part_id", "=", partId).execute();
}

async function stopIfTooMany(
  queries: Queries,
  releaseId: string,
  now: number,
): Promise<string | undefined> {
  const rollout = await queries.selectFrom("rollouts").selectAll()
    .where("release_id", "=", releaseId).executeTakeFirst();
  if (rollout?.state !== "running") return undefined;
  const counts = await queries.selectFrom("release_outcomes")
    .select(["outcome", (eb) => eb.fn.countAll<number>().as("count")])
    .where("release_id", "=", releaseId).where("at", ">=", rollout.counted_since)
    .groupBy("outcome").execute();
  const count = (outcome: string) => counts.find((row) => row.outcome === outcome)?.count ?? 0;
  const reason = whyStop(
    { stopPercent: rollout.stop_percent, stopMinimum: rollout.stop_minimum },
    { done: count("done"), rolledBack: count("rolled back") },
  );
  if (reason === undefined) return undefined;
  await queries.updateTable("rollouts").set({ state: "stopped", reason, changed_at: now })
    .where("release_id", "=", releaseId).execute();
  return reason;
}

function noRollout(program: Program, version: string): ConnectError {
  return refusal(
    "NO_ROLLOUT",
    { version },
    `release ${version} of ${program} has no rollout: every machine of its channel gets it. ` +
      "Withdraw it to stop that, or set a rollout",
    Code.FailedPrecondition,
  );
}
