import type { Clock } from "../../shared/base/time/clock.ts";

/** The wall clock is set, not just slewed, when it is off by more than this. Milliseconds. */
const SET_MS = 2;

/** Wall time finer than a millisecond, so that readings of a fast sensor have times of their own. */
export class ExactTime {
  /** Wall time when the monotonic clock stood at 0; a little too early by what `now` cuts off. */
  #originMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** Milliseconds since 1970, with fractions. */
  nowMs(): number {
    const monotonicMs = this.clock.monotonicMs();
    const seenMs = this.clock.now().getTime() - monotonicMs;
    if (seenMs > this.#originMs || this.#originMs - seenMs > SET_MS) this.#originMs = seenMs;
    return this.#originMs + monotonicMs;
  }
}
