/** What a module prints, as log lines, without letting it eat the server. */
import type { Logger } from "../../../shared/log/logger.ts";
import { cutLine, OutputLimits, type OutputRates } from "../../../shared/log/output_limits.ts";
import type { OutputStream } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** Longest line that goes into the log, in characters; what is over is counted. */
export const LONGEST_OUTPUT_LINE = 8 * 1024;
/** Lines a second that go into the log for long. */
export const LINES_PER_SECOND = 500;
const RATES: OutputRates = {
  linesPerSecond: LINES_PER_SECOND,
  bytesPerSecond: 1024 * 1024,
  burstBytes: 4 * 1024 * 1024,
  lineCostBytes: 100,
};

// deno-lint-ignore no-control-regex
const TERMINAL_CODES = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Standard output goes to the logger `StdOut` as info, standard error to `StdErr` as error. */
export class ModuleOutput {
  readonly #write: Readonly<Record<OutputStream, (line: string) => void>>;
  readonly #limits: OutputLimits;

  constructor(log: Logger, clock: Clock) {
    const out = log.child("StdOut");
    const error = log.child("StdErr");
    this.#write = { stdout: (line) => out.info(line), stderr: (line) => error.error(line) };
    this.#limits = new OutputLimits(RATES, clock, "the module", (text) => log.warn(text));
  }

  /** Takes a line. */
  onLine(stream: OutputStream, line: string): void {
    if (!this.#limits.hasRoom()) return this.#limits.leaveOut();
    this.#limits.spendLine();
    const text = line.replace(TERMINAL_CODES, "");
    if (text.trim() !== "") this.#write[stream](cutLine(text, LONGEST_OUTPUT_LINE));
  }

  /** Counts bytes that were read; resolves when more may be read. */
  onRead(bytes: number): Promise<void> | undefined {
    return this.#limits.onRead(bytes);
  }

  /** Reports the lines left out since the last report. To be called at the end. */
  end(): void {
    this.#limits.reportLeftOut();
  }
}
