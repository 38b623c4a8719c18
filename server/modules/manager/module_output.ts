/** What a module prints, as log lines, without letting it eat the server. */
import { LeftOut } from "../../../shared/log/left_out.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { OutputStream } from "../../../shared/base/process/child_process.ts";
import { Allowance } from "../../../shared/base/time/allowance.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** Longest line that goes into the log, in characters; what is over is counted. */
export const LONGEST_OUTPUT_LINE = 8 * 1024;
/** Lines a second that go into the log for long; a burst may be ten times as many. */
export const LINES_PER_SECOND = 500;
/** Bytes a second that are read for long; a burst may be four times as many. */
const BYTES_PER_SECOND = 1024 * 1024;
/** What taking a line costs next to its bytes, so that a flood of short lines is slowed as well. */
const LINE_COST_BYTES = 100;

// deno-lint-ignore no-control-regex
const TERMINAL_CODES = /\u001b\[[0-9;?]*[A-Za-z]/g;

/**
 * Standard output goes to the logger `StdOut` as info, standard error to `StdErr` as error. A
 * module that prints more than the log takes loses lines, which are counted; one that prints more
 * than the server wants to read waits in its own write.
 */
export class ModuleOutput {
  readonly #write: Readonly<Record<OutputStream, (line: string) => void>>;
  readonly #clock: Clock;
  readonly #lines: Allowance;
  readonly #work: Allowance;
  readonly #leftOut: LeftOut;

  constructor(log: Logger, clock: Clock) {
    const out = log.child("StdOut");
    const error = log.child("StdErr");
    this.#write = { stdout: (line) => out.info(line), stderr: (line) => error.error(line) };
    this.#leftOut = new LeftOut(clock, (count) =>
      log.warn(
        `left out ${count} lines that the module printed; more than ${LINES_PER_SECOND} a second ` +
          "are too many for the log",
      ));
    this.#clock = clock;
    this.#lines = new Allowance(LINES_PER_SECOND, 10 * LINES_PER_SECOND, clock);
    this.#work = new Allowance(BYTES_PER_SECOND, 4 * BYTES_PER_SECOND, clock);
  }

  /** Takes a line. */
  onLine(stream: OutputStream, line: string): void {
    this.#work.spend(LINE_COST_BYTES);
    if (this.#lines.shortMs() > 0) {
      this.#leftOut.add();
      return;
    }
    this.#leftOut.room();
    this.#lines.spend(1);
    const text = line.replace(TERMINAL_CODES, "");
    if (text.trim() !== "") this.#write[stream](cut(text));
  }

  /** Counts bytes that were read; resolves when more may be read. */
  onRead(bytes: number): Promise<void> | undefined {
    this.#work.spend(bytes);
    const ms = this.#work.shortMs();
    return ms > 0 ? this.#clock.sleep(ms) : undefined;
  }

  /** Says how many lines were left out since it was last said. To be called at the end. */
  end(): void {
    this.#leftOut.end();
  }
}

function cut(line: string): string {
  const over = line.length - LONGEST_OUTPUT_LINE;
  return over > 0 ? `${line.slice(0, LONGEST_OUTPUT_LINE)}… (${over} more characters)` : line;
}
