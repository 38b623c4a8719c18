import { type Clock, systemClock } from "./clock.ts";

/** How long and how often {@link waitFor} looks. */
export interface WaitForOptions {
  /** Rejects after this many milliseconds. */
  deadlineMs: number;
  /** Default the system clock. */
  clock?: Clock;
  /** Milliseconds between two looks. Default 10. */
  everyMs?: number;
  /** What is waited for, as it shall stand in the error: "the server is ready". */
  what?: string;
  signal?: AbortSignal;
}

/** A look that begins just before the deadline has this time. */
const LAST_LOOK_MS = 1_000;

/** The condition did not come true in time; `cause` is the last error it threw, if any. */
export class WaitTimeoutError extends Error {
  override readonly name = "WaitTimeoutError";
}

/**
 * Looks until `condition` returns something truthy and gives that back. A condition that throws
 * counts as not yet true.
 *
 * @throws {WaitTimeoutError} at the deadline.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitForOptions,
): Promise<NonNullable<T>> {
  const { deadlineMs, clock = systemClock, everyMs = 10, what = "the condition", signal } = options;
  const endMs = clock.monotonicMs() + deadlineMs;
  let problem: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const leftMs = Math.max(LAST_LOOK_MS, endMs - clock.monotonicMs());
      const result = await inTime(condition(), leftMs, clock);
      if (result) return result;
      problem = undefined;
    } catch (error) {
      // Why the look before failed says more than that the last one was not over.
      if (!(error instanceof LookHangsError)) problem = error;
      else problem ??= error;
    }
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) {
      const because = problem instanceof Error ? `: ${problem.message}` : "";
      throw new WaitTimeoutError(
        `${what} did not come true within ${deadlineMs} ms${because}`,
        problem === undefined ? undefined : { cause: problem },
      );
    }
    await clock.sleep(Math.min(everyMs, leftMs), signal);
  }
}

class LookHangsError extends Error {}

/** @throws {LookHangsError} when a look itself is not over in time */
async function inTime<T>(look: T | Promise<T>, leftMs: number, clock: Clock): Promise<T> {
  if (!(look instanceof Promise) || leftMs === Infinity) return await look;
  const late = Promise.withResolvers<never>();
  const timer = clock.setTimer(
    leftMs,
    () => late.reject(new LookHangsError("the last look hangs")),
  );
  try {
    return await Promise.race([look, late.promise]);
  } finally {
    timer.cancel();
  }
}
