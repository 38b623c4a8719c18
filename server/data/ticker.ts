/** Calls something at a steady rate without drift. */
import type { Clock, Timer } from "../../shared/base/time/clock.ts";

export interface TickerOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** One tick. A promise makes the next ticks wait for it. Must not throw or reject. */
  readonly tick: () => void | Promise<void>;
  /** After the ticks of one moment. */
  readonly onPause: () => void;
}

/** What became of ticks, since the start. */
export interface TickCounts {
  readonly done: number;
  /** Came due while the one before was still at work. */
  readonly overlapped: number;
  /** The whole program was held up for too long. */
  readonly late: number;
}

/** Timers are good to a millisecond or two: ticks closer than this may be late, and follow up. */
const FAST_MS = 10;
/** How late a fast tick may be: what garbage, a slow disk or a busy host takes. */
const FAST_GRACE_MS = 500;

/**
 * Ticks at start + n × interval, whatever the ticks take. The first comes after one interval.
 * Fast ticks that a coarse timer wakes for together are done one after the other.
 */
export class Ticker {
  #timer: Timer | undefined;
  #busySinceMs: number | undefined;
  #isClosed = false;
  readonly #startMs: number;
  /** How many ticks may wait for the one at work. */
  readonly #mostWaiting: number;
  /** How many ticks have come due. */
  #due = 0;
  /** How many of them wait to be done. */
  #waiting = 0;
  #done = 0;
  #overlapped = 0;
  #late = 0;

  constructor(private readonly options: TickerOptions) {
    const { clock, intervalMs } = options;
    this.#startMs = clock.monotonicMs();
    this.#mostWaiting = intervalMs < FAST_MS ? Math.floor(FAST_GRACE_MS / intervalMs) : 0;
    this.#arm();
  }

  get counts(): TickCounts {
    return { done: this.#done, overlapped: this.#overlapped, late: this.#late };
  }

  /** For how long the tick at work has been; 0 when none is. Milliseconds. */
  get busyMs(): number {
    if (this.#busySinceMs === undefined) return 0;
    return this.options.clock.monotonicMs() - this.#busySinceMs;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    if (this.#isClosed) return;
    const { clock, intervalMs } = this.options;
    const nextMs = this.#startMs + (this.#due + 1) * intervalMs;
    this.#timer = clock.setTimer(Math.max(0, nextMs - clock.monotonicMs()), () => {
      this.#wake();
      this.#arm();
    });
  }

  #wake(): void {
    const { clock, intervalMs } = this.options;
    // A hair's breadth makes up for what fractions of milliseconds lose.
    const due = Math.floor((clock.monotonicMs() - this.#startMs) / intervalMs + 1e-6);
    this.#waiting += due - this.#due;
    this.#due = due;
    const isBusy = this.#busySinceMs !== undefined;
    const most = isBusy ? this.#mostWaiting : Math.max(1, this.#mostWaiting);
    const tooMany = Math.max(0, this.#waiting - most);
    this.#waiting -= tooMany;
    if (isBusy) this.#overlapped += tooMany;
    else this.#late += tooMany;
    this.#run();
  }

  #run(): void {
    if (this.#busySinceMs !== undefined) return;
    while (this.#waiting > 0 && !this.#isClosed) {
      this.#waiting--;
      this.#done++;
      const running = this.options.tick();
      if (!running) continue;
      this.#busySinceMs = this.options.clock.monotonicMs();
      void running.finally(() => {
        this.#busySinceMs = undefined;
        this.#run();
      });
      return;
    }
    this.options.onPause();
  }
}
