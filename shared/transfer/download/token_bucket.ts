import type { Clock } from "../../base/time/clock.ts";

/** The rate is looked at this often while somebody waits. Milliseconds. */
const LOOK_MS = 1_000;
/** So much of the rate may come at once after a pause. Seconds. */
const BURST_S = 0.5;

/** Lets bytes through at a rate that may change at any time. Several transfers share it. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #bytesPerS: () => number;
  /** Bytes that came before their time; below zero: that may come at once. */
  #debt = 0;
  #paidMs: number;

  /** @param bytesPerS 0 for no limit. */
  constructor(clock: Clock, bytesPerS: () => number) {
    this.#clock = clock;
    this.#bytesPerS = bytesPerS;
    this.#paidMs = clock.monotonicMs();
  }

  /** Resolves when `bytes` more may come. @throws the signal's reason. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    this.#pay(); // what was saved up until now is bounded
    this.#debt += bytes;
    for (let rate = this.#pay(); this.#debt > 0; rate = this.#pay()) {
      const waitMs = Math.min(LOOK_MS, Math.ceil(this.#debt / rate * 1_000));
      await this.#clock.sleep(waitMs, signal);
    }
  }

  /** @returns the present rate; without one there is no debt. */
  #pay(): number {
    const rate = this.#bytesPerS();
    const nowMs = this.#clock.monotonicMs();
    const paid = rate > 0 ? (nowMs - this.#paidMs) / 1_000 * rate : Infinity;
    this.#paidMs = nowMs;
    this.#debt = paid === Infinity ? 0 : Math.max(this.#debt - paid, -BURST_S * rate);
    return rate;
  }
}
