/** How many attempts a bucket holds. */
export interface BucketLimits {
  /** Attempts in a row. */
  readonly burst: number;
  /** Attempts regained a minute. */
  readonly perMinute: number;
}

interface Bucket {
  left: number;
  at: number;
  /** Attempts that are being verified. */
  pending: number;
  /** Those who wait for one of them to end, in order. */
  readonly waiting: Set<() => void>;
}

const REMEMBERED_BUCKETS = 10_000;

/** Token buckets by key. Those that were not used for longest are forgotten beyond 10,000. */
export class AttemptBuckets {
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    private readonly monotonicMs: () => number,
    private readonly limits: BucketLimits,
  ) {}

  /** Buckets in memory; those that are full and unused are not. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Whether one more attempt may be reserved. */
  free(key: string): boolean {
    const bucket = this.#buckets.get(key);
    if (!bucket) return true;
    this.#refill(bucket);
    return bucket.left >= 1;
  }

  /** Takes one attempt, of an empty bucket too; {@link settle} must follow. */
  reserve(key: string): void {
    const bucket = this.#buckets.get(key) ?? this.#full();
    this.#refill(bucket);
    bucket.left -= 1;
    bucket.pending++;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    this.#forget();
  }

  /** Ends a reservation; an attempt that was not wrong is given back. */
  settle(key: string, wrong: boolean): void {
    const bucket = this.#buckets.get(key);
    if (!bucket) return;
    bucket.pending--;
    if (!wrong) bucket.left += 1;
    this.#refill(bucket);
    this.#wake(bucket);
    if (bucket.pending === 0 && bucket.left >= this.limits.burst) this.#buckets.delete(key);
  }

  /**
   * Calls `wake` once, when as many reservations have ended as waited before, or all. False: none is
   * out.
   */
  wait(key: string, wake: () => void): boolean {
    const bucket = this.#buckets.get(key);
    if (!bucket || bucket.pending === 0) return false;
    bucket.waiting.add(wake);
    return true;
  }

  /** Waits no longer. */
  leave(key: string, wake: () => void): void {
    this.#buckets.get(key)?.waiting.delete(wake);
  }

  /** Takes attempts that were wrong elsewhere; a bucket owes no more than it holds. */
  charge(key: string, count: number): void {
    this.#change(key, (left) => Math.max(left - count, Math.min(left, -this.limits.burst)));
  }

  /** Has no more left than is left elsewhere. */
  lower(key: string, left: number): void {
    this.#change(key, (own) => Math.min(own, Math.max(left, -this.limits.burst)));
  }

  /** What is left in buckets that are not full, those that were used last first. */
  *levels(): Iterable<readonly [key: string, left: number]> {
    for (const [key, bucket] of [...this.#buckets].reverse()) {
      this.#refill(bucket);
      if (bucket.left + bucket.pending < this.limits.burst) yield [key, bucket.left];
    }
  }

  #change(key: string, change: (left: number) => number): void {
    const bucket = this.#buckets.get(key) ?? this.#full();
    this.#refill(bucket);
    bucket.left = change(bucket.left);
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    this.#forget();
  }

  #full(): Bucket {
    return {
      ...{ left: this.limits.burst, at: this.monotonicMs(), pending: 0 },
      waiting: new Set(),
    };
  }

  /** One for each that has ended: to wake all each time would take the longer the more wait. */
  #wake({ waiting, pending }: Bucket): void {
    for (const wake of waiting) {
      waiting.delete(wake);
      wake();
      if (pending > 0) return;
    }
  }

  #refill(bucket: Bucket): void {
    const now = this.monotonicMs();
    const regained = ((now - bucket.at) / 60_000) * this.limits.perMinute;
    bucket.left = Math.min(this.limits.burst - bucket.pending, bucket.left + regained);
    bucket.at = now;
  }

  #forget(): void {
    if (this.#buckets.size <= REMEMBERED_BUCKETS) return;
    for (const [key, { pending }] of this.#buckets) {
      if (pending > 0) continue;
      this.#buckets.delete(key);
      return;
    }
  }
}
