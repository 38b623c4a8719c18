import type { Clock } from "./clock.ts";

/** So much a second, with some to spare at first. */
export class Allowance {
  #left: number;
  #atMs: number;

  /** @param most what is there at first, and after a pause. */
  constructor(
    private readonly perSecond: number,
    private readonly most: number,
    private readonly clock: Clock,
  ) {
    this.#left = most;
    this.#atMs = clock.monotonicMs();
  }

  /** Takes an amount, also one that is not there yet. */
  spend(amount: number): void {
    this.#left -= amount;
  }

  /** Milliseconds until something is left again; 0 when there is. */
  shortMs(): number {
    if (this.#left > 0) return 0;
    const now = this.clock.monotonicMs();
    this.#left = Math.min(this.most, this.#left + (now - this.#atMs) / 1000 * this.perSecond);
    this.#atMs = now;
    return this.#left > 0 ? 0 : Math.ceil(-this.#left / this.perSecond * 1000) + 1;
  }
}
