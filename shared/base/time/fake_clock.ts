import { setImmediate } from "node:timers";
import { type Clock, sleepWith, type Timer } from "./clock.ts";

interface PendingTimer {
  dueMs: number;
  order: number;
  run: () => void;
}

/** A clock that stands still until it is advanced. For tests. */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #order = 0;
  readonly #timers = new Set<PendingTimer>();

  /** Starts at `start`, by default 2026-01-02T03:04:05Z. */
  constructor(start: Date | number | string = "2026-01-02T03:04:05.000Z") {
    this.#wallMs = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#wallMs);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith((delay, run) => this.setTimer(delay, run), ms, signal);
  }

  setTimer(ms: number, run: () => void): Timer {
    const timer = { dueMs: this.#monotonicMs + Math.max(0, ms), order: this.#order++, run };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** How many timers and sleeps are waiting. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Moves time on by `ms`, running due timers in order. Between two timers it lets the event
   * loop turn, so code that sleeps in a loop runs all its turns. Await it.
   */
  async advance(ms: number): Promise<void> {
    await turn();
    const end = this.#monotonicMs + ms;
    for (let next = this.#earliest(end); next; next = this.#earliest(end)) {
      this.#moveTo(next.dueMs);
      this.#timers.delete(next);
      next.run();
      await turn();
    }
    this.#moveTo(end);
    await turn();
  }

  /** Sets the wall clock as an operator or NTP would; timers and the monotonic clock stay. */
  setNow(time: Date | number | string): void {
    this.#wallMs = new Date(time).getTime();
  }

  #earliest(endMs: number): PendingTimer | undefined {
    let found: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      if (!found || timer.dueMs < found.dueMs) found = timer;
    }
    return found;
  }

  #moveTo(monotonicMs: number): void {
    if (monotonicMs <= this.#monotonicMs) return;
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}

/** Lets everything that is ready run: microtasks, then one turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
