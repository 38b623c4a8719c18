import type { Clock } from "../../../shared/base/time/clock.ts";
import type { UpdateLimits } from "./limits.ts";
import type { Trial } from "./record.ts";
import type { ProgramSlot } from "./slot.ts";
import type { UpdateEvent } from "./update_machine.ts";

/** The healthy time is kept on disk in so many steps. */
const STEPS = 4;
/** Of the time between two looks that much counts, in turns: nobody knows how it was in the rest. */
const COUNTED_TURNS = 4;

type Observed = Pick<ProgramSlot, "failures" | "healthy">;

/**
 * Follows one start of a trial. Time is that of the monotonic clock, so a clock that is set does
 * not shorten or lengthen anything.
 */
export class TrialWatch {
  readonly #slot: Observed;
  readonly #limits: UpdateLimits;
  readonly #clock: Clock;
  /** Failed starts that the record knows of already. */
  #seenFailures = 0;
  #savedMs: number;
  #healthyMs: number;
  #lookedMs: number;
  /** Time in a row in which it was not healthy, and could have been. */
  #unhealthyMs = 0;
  #wasHealthy = false;
  #why = "";

  constructor(slot: Observed, trial: Trial, limits: UpdateLimits, clock: Clock) {
    this.#slot = slot;
    this.#limits = limits;
    this.#clock = clock;
    this.#healthyMs = this.#savedMs = trial.healthyMs;
    this.#lookedMs = clock.monotonicMs();
  }

  get healthyMs(): number {
    return this.#healthyMs;
  }

  /** Why it is not healthy; empty when it is. */
  get why(): string {
    return this.#why;
  }

  /** What there is to say now. The event counts once it is {@link taken}; until then it comes again. */
  look({ cloudBefore }: Trial): UpdateEvent | undefined {
    const { trialMs, unhealthyMs, lookEveryMs } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    // An agent that was stopped or starved looks late.
    const spentMs = Math.min(nowMs - this.#lookedMs, COUNTED_TURNS * lookEveryMs);
    this.#lookedMs = nowMs;
    const failures = this.#slot.failures();
    if (failures.count > this.#seenFailures) {
      this.#healthyMs = this.#savedMs = this.#unhealthyMs = 0;
      this.#wasHealthy = false;
      this.#why = failures.reason;
      return { type: "failed", reason: failures.reason };
    }
    const health = this.#slot.healthy(cloudBefore);
    this.#why = health.why;
    if (health.is === "yes") {
      this.#unhealthyMs = 0;
      // The time before it was seen healthy for the first time was none.
      if (this.#wasHealthy) this.#healthyMs += spentMs;
      this.#wasHealthy = true;
      if (this.#healthyMs >= trialMs) return { type: "passed" };
      const isStep = this.#healthyMs - this.#savedMs >= trialMs / STEPS;
      return isStep ? { type: "progress", healthyMs: this.#healthyMs } : undefined;
    }
    // While it starts again after a reboot it keeps what it had.
    if (this.#wasHealthy) this.#healthyMs = this.#savedMs = 0;
    this.#wasHealthy = false;
    if (health.isPaused !== true) this.#unhealthyMs += spentMs;
    const isOver = health.is === "no" || this.#unhealthyMs >= unhealthyMs;
    return isOver ? { type: "unhealthy", reason: health.why } : undefined;
  }

  /** The event is on disk. */
  taken(event: UpdateEvent): void {
    if (event.type === "failed") this.#seenFailures++;
    if (event.type === "unhealthy") this.#unhealthyMs = 0;
    if (event.type === "progress") this.#savedMs = event.healthyMs;
  }
}
