import type { Clock } from "../../../shared/base/time/clock.ts";

/** What waits for one reader, bounded: when it is full the oldest is left out. */
export class Mailbox<T> {
  #waiting: T[] = [];
  #leftOut = 0;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(private readonly capacity: number, private readonly onClose: () => void) {}

  put(...items: T[]): void {
    if (this.#closed) return;
    for (const item of items) this.#waiting.push(item);
    const surplus = this.#waiting.length - this.capacity;
    if (surplus > 0) {
      this.#waiting.splice(0, surplus);
      this.#leftOut += surplus;
    }
    this.#wake?.();
  }

  /**
   * Takes everything that waits. With nothing there it waits for something, for `ms` at most and
   * until the signal aborts or the mailbox closes; then the list is empty.
   */
  async take(clock: Clock, ms: number, signal: AbortSignal): Promise<T[]> {
    if (this.#waiting.length === 0 && !this.#closed && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(ms, resolve);
        const wake = () => {
          timer.cancel();
          signal.removeEventListener("abort", wake);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener("abort", wake, { once: true });
      });
      this.#wake?.();
    }
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** How many items were left out since the last look. */
  takeLeftOut(): number {
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#wake?.();
    this.onClose();
  }
}
