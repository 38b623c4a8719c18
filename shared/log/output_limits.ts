import { Allowance } from "../base/time/allowance.ts";
import type { Clock } from "../base/time/clock.ts";
import { LeftOut } from "./left_out.ts";

/** How much of what a program prints is read and written to a log. */
export interface OutputRates {
  /** Lines a second that are written for long; a burst may be ten times as many. */
  readonly linesPerSecond: number;
  /** Bytes a second that are read for long. */
  readonly bytesPerSecond: number;
  /** What is read at first, and after a pause. */
  readonly burstBytes: number;
  /** What taking a line costs next to its bytes, so that a flood of short lines is slowed as well. */
  readonly lineCostBytes: number;
}

/**
 * Keeps what a program prints within limits: of what is more than the log takes, lines are left out
 * and counted; a program that prints more than is read waits in its own write.
 */
export class OutputLimits {
  readonly #rates: OutputRates;
  readonly #clock: Clock;
  readonly #lines: Allowance;
  readonly #work: Allowance;
  readonly #leftOut: LeftOut;

  /** @param report gets a sentence that says how many lines of `whose` were left out */
  constructor(rates: OutputRates, clock: Clock, whose: string, report: (text: string) => void) {
    this.#rates = rates;
    this.#clock = clock;
    this.#lines = new Allowance(rates.linesPerSecond, 10 * rates.linesPerSecond, clock);
    this.#work = new Allowance(rates.bytesPerSecond, rates.burstBytes, clock);
    this.#leftOut = new LeftOut(clock, (count) =>
      report(
        `left out ${count} lines that ${whose} printed; more than ${rates.linesPerSecond} a second ` +
          "are too many for the log",
      ));
  }

  /** Takes a line that was read. Whether there is room for it in the log. */
  hasRoom(): boolean {
    this.#work.spend(this.#rates.lineCostBytes);
    return this.#lines.shortMs() === 0;
  }

  /** A line is left out. */
  leaveOut(): void {
    this.#leftOut.add();
  }

  /** A line is about to be written. */
  spendLine(): void {
    this.#leftOut.room();
    this.#lines.spend(1);
  }

  /** Counts bytes that were read; resolves when more may be read. */
  onRead(bytes: number): Promise<void> | undefined {
    this.#work.spend(bytes);
    const ms = this.#work.shortMs();
    return ms > 0 ? this.#clock.sleep(ms) : undefined;
  }

  /** Reports the lines left out since the last report. */
  reportLeftOut(): void {
    this.#leftOut.end();
  }
}

/** At most so many characters of a line, and how many more there were. */
export function cutLine(line: string, longest: number): string {
  const over = line.length - longest;
  return over > 0 ? `${line.slice(0, longest)}… (${over} more characters)` : line;
}
