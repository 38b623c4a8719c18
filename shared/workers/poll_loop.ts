import type { Backoff } from "../base/time/backoff.ts";
import type { Clock } from "../base/time/clock.ts";
import { linkedController } from "../base/time/linked_controller.ts";
import { spread } from "./spread.ts";
import type { Watched } from "./watched.ts";

export interface PollLoopOptions {
  readonly clock: Clock;
  /** From the end of a turn to the next one where the turn names no other wait. Milliseconds. */
  readonly intervalMs: number;
  /** Before the first turn. Milliseconds; default 0. */
  readonly firstMs?: number;
  /** Waits after turns that failed; a turn that works resets it. Default: `intervalMs`. */
  readonly backoff?: Backoff;
  /** Each wait is up to 5 % shorter or longer. Numbers in [0, 1); default: waits are exact. */
  readonly random?: () => number;
  /** A wait ends when one is set; one that is set during a turn leads to another turn at once. */
  readonly changes?: readonly Watched<unknown>[];
  /**
   * Called with what a turn threw before it is tried again; what it throws itself ends the loop.
   * Default: a turn that fails ends the loop.
   */
  readonly onFailure?: (error: unknown) => void;
}

/** Milliseconds until the next turn where it is not the interval; `"done"` ends the loop. */
type Outcome = number | "done" | void;

/**
 * Asks, waits, and asks again until the signal is aborted. A turn may return the milliseconds until
 * the next one, or `"done"` to end the loop.
 *
 * @returns `"done"` when a turn did: such a worker is not started again.
 */
export async function pollLoop(
  turn: (signal: AbortSignal) => Outcome | Promise<Outcome>,
  options: PollLoopOptions,
  signal: AbortSignal,
): Promise<"done" | void> {
  const { clock, intervalMs, firstMs = 0, backoff, random, changes = [], onFailure } = options;

  const attempt = async (): Promise<number | "done"> => {
    try {
      const next = await turn(signal);
      backoff?.reset();
      return next ?? intervalMs;
    } catch (error) {
      if (signal.aborted) return 0;
      if (!onFailure) throw error;
      onFailure(error);
      return backoff?.next() ?? intervalMs;
    }
  };

  /** Does the work, then waits; what changes meanwhile ends the wait. */
  const once = async (work: () => Promise<number | "done">): Promise<"done" | void> => {
    const wait = linkedController(signal);
    const changed = Promise.race(changes.map((one) => one.changed(wait.signal))).catch(() => {});
    try {
      const ms = await work();
      if (ms === "done") return ms;
      const sleep = clock.sleep(random ? spread(ms, random()) : ms, wait.signal).catch(() => {});
      await Promise.race([sleep, changed]);
    } finally {
      wait.abort();
    }
  };

  if (firstMs > 0) await once(() => Promise.resolve(firstMs));
  while (!signal.aborted) {
    if (await once(attempt) === "done") return "done";
  }
}
