import type { Clock } from "../base/time/clock.ts";

/** From one notice to the next. Milliseconds. */
const NOTICE_EVERY_MS = 10_000;

/**
 * Counts what there was no room for, and reports it when there is room again: at once the first
 * time, then every 10 s at most, so that the notices are no flood of their own.
 */
export class LeftOut {
  #count = 0;
  #toldMs = -Infinity;

  /** @param tell takes how many were left out since it was last called */
  constructor(private readonly clock: Clock, private readonly tell: (count: number) => void) {}

  /** One was left out. */
  add(): void {
    this.#count++;
  }

  /** There is room again. */
  room(): void {
    if (this.#count > 0 && this.clock.monotonicMs() - this.#toldMs >= NOTICE_EVERY_MS) this.end();
  }

  /** Reports what was not reported yet. */
  end(): void {
    if (this.#count === 0) return;
    const count = this.#count;
    this.#count = 0;
    this.#toldMs = this.clock.monotonicMs();
    this.tell(count);
  }
}
