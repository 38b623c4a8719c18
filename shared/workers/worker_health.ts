import { toError } from "../base/errors/to_error.ts";
import type { Clock } from "../base/time/clock.ts";

/** A worker that fails again and again, or stands still. */
export interface FailingWorker {
  readonly name: string;
  /** One sentence. */
  readonly reason: string;
  /** For how long, in milliseconds. */
  readonly forMs: number;
}

interface State {
  /** When it failed first since it worked; undefined while it works. */
  failingSinceMs: number | undefined;
  reason: string;
  startedMs: number;
  /** When it said last that it moves; undefined when it never does. */
  beatMs: number | undefined;
}

/** A run that lasts so long is one that works. */
const WORKS_AFTER_MS = 60_000;
/** Who says that it moves says so at least so often. */
const LONGEST_STILL_MS = 5 * 60_000;

/** Whether the agent's workers do their work. */
export class WorkerHealth {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  started(name: string): void {
    const startedMs = this.#clock.monotonicMs();
    const before = this.#states.get(name);
    this.#states.set(name, {
      failingSinceMs: before?.failingSinceMs,
      reason: before?.reason ?? "",
      startedMs,
      beatMs: undefined,
    });
  }

  failed(name: string, error: unknown): void {
    const state = this.#states.get(name);
    if (!state) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - state.startedMs >= WORKS_AFTER_MS) state.failingSinceMs = undefined;
    state.failingSinceMs ??= nowMs;
    state.beatMs = undefined;
    state.reason = toError(error).message;
  }

  /** The worker has made a turn; from then on it must continue making them. */
  beat(name: string): void {
    const state = this.#states.get(name);
    if (state) state.beatMs = this.#clock.monotonicMs();
  }

  failing(): FailingWorker[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#states].flatMap(([name, state]): FailingWorker[] => {
      const { failingSinceMs, startedMs, beatMs, reason } = state;
      const stillMs = nowMs - (beatMs ?? nowMs);
      if (stillMs > LONGEST_STILL_MS) {
        return [{ name, reason: `the ${name} worker is stuck`, forMs: stillMs }];
      }
      if (failingSinceMs === undefined || nowMs - startedMs >= WORKS_AFTER_MS) return [];
      const text = `the ${name} worker fails: ${reason}`;
      return [{ name, reason: text, forMs: nowMs - failingSinceMs }];
    });
  }
}
