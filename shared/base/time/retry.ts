import { toError } from "../errors/to_error.ts";
import type { Backoff } from "./backoff.ts";
import type { Clock } from "./clock.ts";

/** How {@link retry} continues after a failure. */
export interface RetryOptions {
  clock: Clock;
  backoff: Backoff;
  /** Ends the waiting and the trying; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** False for errors that another attempt cannot cure; those are thrown as they are. */
  isRetriable?: (error: unknown) => boolean;
  /** Called before each wait: the error, the attempt that failed (1 is the first), the wait. */
  onRetry?: (error: unknown, attempt: number, waitMs: number) => void;
  /** Rejects after this many attempts. Default: never. */
  maxAttempts?: number;
  /** Starts no attempt later than this many milliseconds after the first. Default: never. */
  deadlineMs?: number;
}

/** {@link retry} is exhausted; `cause` is the last attempt's error. */
export class RetryError extends Error {
  override readonly name = "RetryError";
  /** How many attempts were made. */
  readonly attempts: number;

  constructor(attempts: number, cause: unknown) {
    const reason = toError(cause).message;
    super(`failed after ${attempts} attempts: ${reason}`, { cause });
    this.attempts = attempts;
  }
}

/**
 * Calls `attempt` until it succeeds. The backoff is reset on success, so the same one can be
 * used for the next run.
 */
export async function retry<T>(
  attempt: (number: number) => T | Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { clock, backoff, signal, isRetriable, onRetry } = options;
  const { maxAttempts = Infinity, deadlineMs = Infinity } = options;
  const startMs = clock.monotonicMs();
  for (let number = 1;; number++) {
    signal?.throwIfAborted();
    try {
      const result = await attempt(number);
      backoff.reset();
      return result;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (isRetriable && !isRetriable(error)) throw error;
      const waitMs = backoff.next();
      const nextStartMs = clock.monotonicMs() - startMs + waitMs;
      if (number >= maxAttempts || nextStartMs > deadlineMs) throw new RetryError(number, error);
      onRetry?.(error, number, waitMs);
      await clock.sleep(waitMs, signal);
    }
  }
}
