/** How many failed attempts a caller has, and how fast they come back. */
export interface AttemptLimits {
  /** Failures in a row before a caller has to wait; default 20. */
  readonly burst: number;
  /** Attempts regained a minute; default 10. */
  readonly perMinute: number;
}

interface Bucket {
  left: number;
  at: number;
}

const REMEMBERED_CALLERS = 10_000;

/**
 * Slows down guessing: a token bucket of failed attempts for each address. Successes cost nothing,
 * so a fleet behind one address is not slowed down.
 */
export class AttemptLimiter {
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    private readonly monotonicMs: () => number = () => performance.now(),
    private readonly limits: AttemptLimits = { burst: 20, perMinute: 10 },
  ) {}

  /** Whether this caller may try now. */
  allows(caller: string): boolean {
    return this.#refilled(caller).left >= 1;
  }

  /** Counts a failed attempt. */
  failed(caller: string): void {
    const bucket = this.#refilled(caller);
    bucket.left = Math.max(0, bucket.left - 1);
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > REMEMBERED_CALLERS) {
      const oldest = this.#buckets.keys().next().value;
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
  }

  #refilled(caller: string): Bucket {
    const now = this.monotonicMs();
    const bucket = this.#buckets.get(caller);
    if (!bucket) return { left: this.limits.burst, at: now };
    const regained = ((now - bucket.at) / 60_000) * this.limits.perMinute;
    bucket.left = Math.min(this.limits.burst, bucket.left + regained);
    bucket.at = now;
    return bucket;
  }
}
