/** How often a peer may do what costs more than it brings: so often at once, so often forever. */
export interface BudgetOptions {
  readonly atOnce: number;
  readonly perSecond: number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
}

/** What is spent comes back with time, or is earned by what the peer does besides. */
export class Budget {
  #left: number;
  #countedAt: number;

  constructor(private readonly options: BudgetOptions) {
    this.#left = options.atOnce;
    this.#countedAt = options.monotonicMs();
  }

  /** Never more than it was in the beginning. */
  earn(times: number): void {
    this.#left = Math.min(this.options.atOnce, this.#left + times);
  }

  /** @returns false when it was once too often. */
  spend(): boolean {
    const now = this.options.monotonicMs();
    this.earn((now - this.#countedAt) / 1000 * this.options.perSecond);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
