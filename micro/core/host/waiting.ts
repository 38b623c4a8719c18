import type { Host, TimerId } from "./host.ts";

/** Waits that something may end early. */
export class Waiter {
  #wake: (() => void) | undefined;
  #timer: TimerId | undefined;

  constructor(private readonly host: Pick<Host, "setTimer" | "clearTimer">) {}

  /** Resolves after the time, or at {@link wake}. One caller at a time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = this.host.setTimer(ms, () => this.wake());
    });
  }

  wake(): void {
    if (this.#timer !== undefined) this.host.clearTimer(this.#timer);
    this.#timer = undefined;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** Grows from `least` to `most` with each failure; ±20 % so that many devices do not come at once. */
export class Backoff {
  #next: number;

  constructor(
    private readonly host: Pick<Host, "random">,
    private readonly least: number,
    private readonly most: number,
  ) {
    this.#next = least;
  }

  reset(): void {
    this.#next = this.least;
  }

  /** Milliseconds to wait now. */
  next(): number {
    const ms = this.#next;
    this.#next = Math.min(this.most, ms * 2);
    return ms * (0.8 + 0.4 * (this.host.random(1)[0] ?? 0) / 255);
  }
}
