import type { Clock } from "./clock.ts";
import { WaitTimeoutError } from "./wait_for.ts";

/** How long {@link withDeadline} lets the work take. */
export interface DeadlineOptions {
  clock: Clock;
  /** Milliseconds. */
  deadlineMs: number;
  /** What takes so long, as it shall stand in the error: "the log upload". */
  what: string;
  signal?: AbortSignal;
}

/**
 * Runs `work` and rejects at the deadline or when the signal is aborted, even if the work does
 * not heed the signal it is given.
 *
 * @throws {WaitTimeoutError} at the deadline; the signal's reason when aborted.
 */
export function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { clock, deadlineMs, what, signal }: DeadlineOptions,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const controller = new AbortController();
    const giveUp = (reason: unknown) => {
      settle();
      reject(reason);
      controller.abort(reason);
    };
    const onAbort = () => giveUp(signal?.reason);
    const timer = clock.setTimer(
      deadlineMs,
      () => giveUp(new WaitTimeoutError(`${what} took longer than ${deadlineMs} ms`)),
    );
    const settle = () => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    work(controller.signal).finally(settle).then(resolve, reject);
  });
}
