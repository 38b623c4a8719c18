import type { OutputStream } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { cutLine, OutputLimits, type OutputRates } from "../../../shared/log/output_limits.ts";
import type { TaskOutput } from "./runner.ts";

type Level = Parameters<TaskOutput["line"]>[0];

/** Longest line that goes into the log, in characters; what is over is counted. */
const LONGEST_LINE = 4 * 1024;
/** Reading takes a tenth of a processor at most. */
const RATES: OutputRates = {
  linesPerSecond: 200,
  bytesPerSecond: 16 * 1024 * 1024,
  burstBytes: 32 * 1024 * 1024,
  lineCostBytes: 200,
};
/** The last lines, which show why a script failed. */
const TAIL_LINES = 12;
const TAIL_LINE_LENGTH = 300;

// deno-lint-ignore no-control-regex
const TERMINAL_CODES = /\u001b\[[0-9;?]*[A-Za-z]|[\u0000-\u0008\u000e-\u001f]/g;

/** What a run prints, on its way to the job's log. */
export class RunOutput {
  readonly #limits: OutputLimits;
  #tail: string[] = [];

  constructor(private readonly output: TaskOutput, clock: Clock) {
    const report = (text: string) => output.line("warn", text);
    this.#limits = new OutputLimits(RATES, clock, "the script", report);
  }

  /** Takes a line that a program printed. */
  onLine(stream: OutputStream, line: string): void {
    const hasRoom = this.#limits.hasRoom();
    // What is left out may still be the last that the script said.
    const text = lastState(hasRoom ? line : line.slice(0, TAIL_LINE_LENGTH));
    if (text.trim() === "") return;
    this.#remember(text);
    if (!hasRoom) return this.#limits.leaveOut();
    this.#limits.spendLine();
    this.output.line(levelOf(text, stream), cutLine(text, LONGEST_LINE));
  }

  /** Counts bytes that were read; resolves when more may be read. */
  onRead(bytes: number): Promise<void> | undefined {
    return this.#limits.onRead(bytes);
  }

  /** Says something of the cloud's own. */
  note(level: Level, message: string): void {
    this.#limits.reportLeftOut();
    this.output.line(level, message);
  }

  /** The last lines are those of what comes now. */
  forgetTail(): void {
    this.#tail = [];
  }

  /** The last lines that were printed, for a reason; empty when there were none. */
  tail(): string {
    return this.#tail.join("\n");
  }

  /** Reports the lines left out since the last report. To be called at the end. */
  end(): void {
    this.#limits.reportLeftOut();
  }

  #remember(text: string): void {
    const over = text.length > TAIL_LINE_LENGTH;
    this.#tail.push(over ? `${text.slice(0, TAIL_LINE_LENGTH)}…` : text);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
  }
}

/** Bars of progress draw over themselves: only what is seen at the end counts. */
function lastState(line: string): string {
  const states = line.split("\r").filter((state) => state.trim() !== "");
  return (states.at(-1) ?? "").replace(TERMINAL_CODES, "").trimEnd();
}

const NAMED = /^\W{0,2}(DEBUG|INFO|WARN|ERROR|CRITICAL|FATAL)/;
/** As TensorFlow and absl begin their lines. */
const LETTERED = /^(?:\d{4}-\d\d-\d\d [\d:.]+: ([IWEF]) |([IWEF])\d{4} )/;
const LEVELS: Readonly<Record<string, Level>> = { D: "debug", I: "info", W: "warn" };

/** Programs print most of what they say to standard error, errors or not. */
function levelOf(text: string, stream: OutputStream): Level {
  const lettered = LETTERED.exec(text);
  const letter = NAMED.exec(text)?.[1]?.[0] ?? lettered?.[1] ?? lettered?.[2];
  if (letter !== undefined) return LEVELS[letter] ?? "error";
  return stream === "stdout" ? "info" : "warn";
}
