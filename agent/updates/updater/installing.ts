import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { isRefused } from "./fetching.ts";
import { Delay } from "./orders.ts";
import type { RollingBack, Swapping, Trial, Verified, Waiting } from "./record.ts";
import { versionName } from "./target.ts";
import { TrialWatch } from "./trial_watch.ts";
import type { UpdateParts } from "./update_parts.ts";

const HOUR_MS = 3_600_000;

/** The states from a verified file to a trusted version: waiting, swapping, trial, rolling back. */
export class Installing {
  readonly #swapDelay: Delay;
  readonly #swapBackoff: Backoff;
  #verifiedMs = 0;
  #watched: { readonly entry: number; readonly watch: TrialWatch } | undefined;

  constructor(private readonly parts: UpdateParts) {
    const { clock, orders, limits } = parts;
    this.#swapDelay = new Delay(clock, orders);
    this.#swapBackoff = new Backoff({ minMs: limits.swapRetryMs, maxMs: HOUR_MS, jitter: false });
  }

  /** Healthy time of the trial under way. */
  get healthyMs(): number {
    return this.#watch?.healthyMs ?? 0;
  }

  /** The file is there; the time that it waits for the other program counts from now. */
  verified(): void {
    this.#verifiedMs = this.parts.clock.monotonicMs();
  }

  /** Asks whether it may be swapped in now. */
  async ask(
    state: Verified | Waiting,
    current: InstalledVersion | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { slot, window, turns, clock, limits, orders, keeper } = this.parts;
    if (await isRefused(this.parts, state.candidate.target, current)) return;
    const notYet = async (why: string, since = clock.now()) => {
      keeper.apply({ type: "not-yet", why, since: keptSince(state, why, since) });
      await orders.pause(limits.askEveryMs, signal, [window.observed]);
    };
    const problem = slot.problem();
    if (problem !== undefined) return await notYet(problem);
    const { leftMs } = this.#swapDelay;
    if (leftMs > 0) return await orders.pause(leftMs, signal);
    // Also for a first version: the window knows whether something runs that would be disturbed.
    const may = orders.isForced ? { allowed: true } as const : await window.permission();
    if (orders.hasNews) return;
    if (!may.allowed) return await notYet(may.why, may.since);
    // Nothing may be awaited from here to the event: the other program asks, too.
    const waitedMs = clock.monotonicMs() - this.#verifiedMs;
    const turn = turns.waitFor(slot.program, waitedMs, limits.agentFirstMs);
    if (turn !== undefined) return await notYet(turn);
    orders.isForced = false;
    keeper.apply({ type: "go", cloudBefore: slot.reachesCloud() });
  }

  async swap({ candidate }: Swapping, current: InstalledVersion | undefined): Promise<void> {
    const { slot, log, keeper } = this.parts;
    log.info(`${slot.program} is exchanged`, {
      event: "update_swapped",
      version: versionName(candidate.target),
    });
    try {
      await slot.swap(candidate, current);
      keeper.apply({ type: "swapped" });
    } catch (error) {
      const reason = toError(error).message;
      log.error(`${slot.program} cannot be exchanged; the version before stays`, {
        event: "update_not_swapped",
        error: reason,
      });
      await slot.undoSwap(current);
      this.#swapDelay.set(this.#swapBackoff.next());
      return keeper.apply({ type: "not-swapped", reason });
    }
    this.#swapBackoff.reset();
  }

  async try(trial: Trial, signal: AbortSignal): Promise<void> {
    const { slot, limits, log, clock, orders, keeper, shown } = this.parts;
    if (slot.beginTrial(trial.candidate) === "elsewhere") return await ended(signal);
    const watch = this.#watch ?? new TrialWatch(slot, trial, limits, clock);
    this.#watched = { entry: keeper.entries, watch };
    const event = watch.look(trial);
    shown.fail(watch.why);
    if (!event) {
      try {
        return await orders.pause(limits.lookEveryMs, signal);
      } finally {
        if (signal.aborted) await slot.leaveTrial();
      }
    }
    if (event.type === "failed" || event.type === "unhealthy") {
      const version = versionName(trial.candidate.target);
      log.error(`${slot.program} ${version} is on trial: ${event.reason}`, {
        event: "update_unhealthy",
      });
    }
    keeper.apply(event);
    watch.taken(event);
  }

  async rollBack(
    { candidate, reason }: RollingBack,
    current: InstalledVersion | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { slot, log, keeper } = this.parts;
    if (current) {
      log.error(`${slot.program} goes back to ${versionName(current)}`, {
        event: "update_rolled_back",
        from: versionName(candidate.target),
        reason,
      });
      const continues = await slot.rollBack(candidate, current, reason);
      if (continues === "elsewhere") return await ended(signal);
    }
    keeper.apply({ type: "done" });
  }

  /** Of the trial under way; each time a trial is entered another one begins. */
  get #watch(): TrialWatch | undefined {
    const watched = this.#watched;
    return watched?.entry === this.parts.keeper.entries ? watched.watch : undefined;
  }
}

/** The same reason has been there since it was reported first. */
function keptSince(state: Verified | Waiting, why: string, since: Date): Date {
  return state.kind === "waiting" && state.why === why ? new Date(state.since) : since;
}

/** The service starts another agent soon. */
function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
