import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { LivenessState } from "../../storage/database/trigger_schema.ts";
import type { PartSign, Presence } from "../../fleet/presence/presence.ts";
import type { Triggers } from "./triggers.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface LivenessOptions {
  readonly queries: Queries;
  readonly presence: Pick<Presence, "signs" | "offlineAfterMs">;
  readonly triggers: Pick<Triggers, "transition" | "committed">;
  readonly clock: Clock;
  readonly log: Logger;
}

const LOOK_EVERY_MS = 1_000;
/** A look that is later than this was held up, and with it the machines' calls. */
const LATE_MS = 10_000;
const SLICE = 100;

/**
 * Notes which parts come and go, once each: the last state of every part is in the database, so a
 * cloud that starts again notifies nothing twice and misses nothing that happened while it was
 * away. What the cloud itself could not receive is no absence: its own starts and its own stalls
 * give every part the whole time again.
 */
export class Liveness {
  readonly #states = new Map<string, LivenessState>();
  /** Since when the cloud receives what machines send. */
  #listeningSinceMs: number;
  #lookedMs: number;

  constructor(private readonly options: LivenessOptions) {
    this.#lookedMs = this.#listeningSinceMs = options.clock.monotonicMs();
  }

  /** Reads the states that were noted last. */
  async load(): Promise<void> {
    const rows = await this.options.queries.selectFrom("part_liveness")
      .select(["part_id", "state"]).execute();
    for (const row of rows) this.#states.set(row.part_id, row.state);
    this.#lookedMs = this.#listeningSinceMs = this.options.clock.monotonicMs();
  }

  /** Looks every second until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const onFailure = (error: unknown) =>
      log.error("cannot note which parts came and went; retrying", {
        event: "trigger_failed",
        error: String(error),
      });
    await pollLoop(() => this.look(), { clock, intervalMs: LOOK_EVERY_MS, onFailure }, signal);
  }

  /** Notes every part whose state is another one now. */
  async look(): Promise<void> {
    const { clock, presence } = this.options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lookedMs > LATE_MS) this.#listeningSinceMs = nowMs;
    this.#lookedMs = nowMs;
    const changed: { partId: string; state: LivenessState }[] = [];
    for (const sign of presence.signs()) {
      const known = this.#states.get(sign.partId);
      const sinceMs = signOfLifeMs(sign, known, this.#listeningSinceMs, nowMs);
      const state = nowMs - sinceMs < presence.offlineAfterMs ? "online" : "offline";
      if (state === known) continue;
      // Nobody has learned of it in this run and none has recorded it: there is nothing to notify.
      if (known === undefined && sign.seenMs === undefined) continue;
      changed.push({ partId: sign.partId, state });
    }
    for (let at = 0; at < changed.length; at += SLICE) {
      await this.#note(changed.slice(at, at + SLICE));
    }
  }

  async #note(changed: readonly { partId: string; state: LivenessState }[]): Promise<void> {
    const { queries, triggers, clock } = this.options;
    const at = clock.now();
    await queries.transaction().execute(async (transaction) => {
      // A part may have been deleted meanwhile; its row would be refused.
      const rows = await transaction.selectFrom("parts").select("id")
        .where("id", "in", changed.map(({ partId }) => partId)).execute();
      const existing = new Set(rows.map((row) => row.id));
      for (const { partId, state } of changed) {
        if (!existing.has(partId)) continue;
        const noted = { state, since: at.getTime() };
        await transaction.insertInto("part_liveness").values({ part_id: partId, ...noted })
          .onConflict((conflict) => conflict.column("part_id").doUpdateSet(noted)).execute();
        await triggers.transition(transaction, partId, state, at);
      }
      faultPoint("triggers.transition.before-commit");
    });
    faultPoint("triggers.transition.after-commit");
    for (const { partId, state } of changed) this.#states.set(partId, state);
    triggers.committed();
  }
}

/** The last moment at which the part was there for sure. */
function signOfLifeMs(
  { isStreaming, seenMs = -Infinity }: PartSign,
  known: LivenessState | undefined,
  listeningSinceMs: number,
  nowMs: number,
): number {
  if (isStreaming) return nowMs;
  return known === "online" ? Math.max(seenMs, listeningSinceMs) : seenMs;
}
