/** How many requests a peer may give up, each of which has cost us something (CVE-2023-44487). */

/** What nghttp2 allows: so many at once, and so many a second for ever. */
const MOST_AT_ONCE = 1_000;
const PER_SECOND = 33;

export class ResetBudget {
  #left = MOST_AT_ONCE;
  #countedAt: number;

  /** @param monotonicMs milliseconds that never go back. */
  constructor(private readonly monotonicMs: () => number) {
    this.#countedAt = monotonicMs();
  }

  /** @returns false when there was one too many. */
  spend(): boolean {
    const now = this.monotonicMs();
    this.#left = Math.min(MOST_AT_ONCE, this.#left + (now - this.#countedAt) / 1000 * PER_SECOND);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
