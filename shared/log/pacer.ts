import type { Clock, Timer } from "../base/time/clock.ts";
import { severity } from "./level.ts";
import type { LogLine, LogSink } from "./line.ts";
import type { Level } from "./logger.ts";

// A line costs some 40 µs with all outputs. At this rate a flood takes less than a tenth of one
// processor, and no call waits longer for it than half a millisecond.
const LINES_PER_MS = 2;
/** Lines that are written at once after a quiet time. */
const BURST = 100;
const DRAIN_EVERY_MS = 2;
/** Most lines of one turn of the event loop. */
const DRAIN_LINES = 10;

const MOST_WAITING = 10_000;
const MOST_WAITING_CHARACTERS = 8 * 1024 * 1024;
/** Of one logger, so that a noisy one does not silence the others. */
const MOST_OF_ONE = 2_000;
/** What only lines of warn and error may use of these bounds. */
const RESERVED = 0.2;
/** Pause between two notices of the same logger. */
const NOTICE_EVERY_MS = 10_000;
/** Loggers distinguished when lines are left out. */
const MOST_NAMES = 500;
const OTHERS = "log";

interface LeftOut {
  count: number;
  /** Since when they are counted. */
  sinceMs: number;
}

/**
 * Hands lines on at a rate that leaves the event loop free. What comes faster waits in order; what
 * finds no room is left out, and a line of the same logger shows how many.
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #output: LogSink;
  #allowed = BURST;
  #refilledMs: number;
  #queue: LogLine[] = [];
  /** Lines of `#queue` that are written already. */
  #written = 0;
  #characters = 0;
  readonly #waitingOf = new Map<string, number>();
  readonly #leftOut = new Map<string, LeftOut>();
  #timer: Timer | undefined;

  constructor(clock: Clock, output: LogSink) {
    this.#clock = clock;
    this.#output = output;
    this.#refilledMs = clock.monotonicMs();
  }

  /** Whether there is room for a line; one that has none is counted as left out. */
  hasRoom(logger: string, level: Level): boolean {
    if (this.#waiting === 0) {
      this.#refill();
      if (this.#allowed >= 1) return true;
    }
    const share = severity(level) >= severity("warn") ? 1 : 1 - RESERVED;
    const hasRoom = this.#waiting < MOST_WAITING * share &&
      this.#characters < MOST_WAITING_CHARACTERS * share &&
      (this.#waitingOf.get(logger) ?? 0) < MOST_OF_ONE * share;
    if (!hasRoom) this.#leaveOut(logger);
    return hasRoom;
  }

  /** Writes a line that has room, now or in its turn. */
  write(line: LogLine): void {
    if (this.#waiting === 0 && this.#allowed >= 1) {
      this.#allowed--;
      return this.#output(line);
    }
    this.#queue.push(line);
    this.#characters += line.message.length;
    this.#waitingOf.set(line.logger, (this.#waitingOf.get(line.logger) ?? 0) + 1);
    this.#armTimer();
  }

  /** Writes everything that waits, and shows what was left out. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writeNext(Infinity);
    this.#tellLeftOut(Infinity);
  }

  get #waiting(): number {
    return this.#queue.length - this.#written;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#allowed = Math.min(BURST, this.#allowed + (nowMs - this.#refilledMs) * LINES_PER_MS);
    this.#refilledMs = nowMs;
  }

  #drain(): void {
    this.#refill();
    const count = Math.min(DRAIN_LINES, Math.floor(this.#allowed));
    this.#allowed -= this.#writeNext(count);
    this.#tellLeftOut(this.#clock.monotonicMs());
    if (this.#waiting > 0 || this.#leftOut.size > 0) this.#armTimer();
  }

  #writeNext(most: number): number {
    const end = Math.min(this.#queue.length, this.#written + most);
    const first = this.#written;
    while (this.#written < end) {
      const line = this.#queue[this.#written++];
      if (line) this.#writeWaiting(line);
    }
    const count = this.#written - first;
    if (this.#waiting === 0 || this.#written > MOST_WAITING) {
      this.#queue = this.#queue.slice(this.#written);
      this.#written = 0;
    }
    return count;
  }

  #writeWaiting(line: LogLine): void {
    this.#characters -= line.message.length;
    const left = (this.#waitingOf.get(line.logger) ?? 1) - 1;
    if (left > 0) this.#waitingOf.set(line.logger, left);
    else this.#waitingOf.delete(line.logger);
    this.#output(line);
  }

  #leaveOut(logger: string): void {
    const name = this.#leftOut.has(logger) || this.#leftOut.size < MOST_NAMES ? logger : OTHERS;
    const leftOut = this.#leftOut.get(name);
    if (leftOut) leftOut.count++;
    else this.#leftOut.set(name, { count: 1, sinceMs: this.#clock.monotonicMs() });
    this.#armTimer();
  }

  /** Reports loggers that are quiet again, and of the others from time to time. */
  #tellLeftOut(nowMs: number): void {
    for (const [logger, { count, sinceMs }] of this.#leftOut) {
      if (this.#waitingOf.has(logger) && nowMs - sinceMs < NOTICE_EVERY_MS) continue;
      this.#leftOut.delete(logger);
      const lines = count === 1 ? "1 line was" : `${count} lines were`;
      this.#output({
        time: this.#clock.now(),
        level: "warn",
        logger,
        message: `${lines} left out: they came faster than they can be written`,
        fields: {},
        caller: undefined,
      });
    }
  }

  #armTimer(): void {
    this.#timer ??= this.#clock.setTimer(DRAIN_EVERY_MS, () => {
      this.#timer = undefined;
      this.#drain();
    });
  }
}
