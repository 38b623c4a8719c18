import type { OutputStream } from "../../../shared/base/process/child_process.ts";
import { Allowance } from "../../../shared/base/time/allowance.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { TaskOutput } from "./runner.ts";

type Level = Parameters<TaskOutput["line"]>[0];

/** Longest line that goes into the log, in characters; what is over is counted. */
const LONGEST_LINE = 4 * 1024;
/** Lines a second that go into the log for long; a burst may be ten times as many. */
const LINES_PER_SECOND = 200;
/** Bytes a second that are read for long, a tenth of a processor; a burst may be twice as many. */
const BYTES_PER_SECOND = 16 * 1024 * 1024;
/** What taking a line costs next to its bytes, so that a flood of short lines is slowed as well. */
const LINE_COST_BYTES = 200;
/** While lines are left out it is said this often how many. */
const TELL_EVERY_MS = 5_000;
/** The last lines, which show why a script failed. */
const TAIL_LINES = 12;
const TAIL_LINE_LENGTH = 300;

// deno-lint-ignore no-control-regex
const TERMINAL_CODES = /\u001b\[[0-9;?]*[A-Za-z]|[\u0000-\u0008\u000e-\u001f]/g;

/**
 * What a run prints, on its way to the job's log. A script that prints more than the log takes loses
 * lines, which are counted; one that prints more than the cloud wants to read waits in its own
 * write.
 */
export class RunOutput {
  readonly #lines: Allowance;
  readonly #work: Allowance;
  #tail: string[] = [];
  #leftOut = 0;
  #toldMs: number;

  constructor(private readonly output: TaskOutput, private readonly clock: Clock) {
    this.#lines = new Allowance(LINES_PER_SECOND, 10 * LINES_PER_SECOND, clock);
    this.#toldMs = clock.monotonicMs() - TELL_EVERY_MS;
    this.#work = new Allowance(BYTES_PER_SECOND, 2 * BYTES_PER_SECOND, clock);
  }

  /** Takes a line that a program printed. */
  onLine(stream: OutputStream, line: string): void {
    this.#work.spend(LINE_COST_BYTES);
    const isOver = this.#lines.shortMs() > 0;
    // What is left out may still be the last that the script said.
    const text = lastState(isOver ? line.slice(0, TAIL_LINE_LENGTH) : line);
    if (text.trim() === "") return;
    this.#remember(text);
    if (isOver) {
      this.#leftOut++;
      return;
    }
    if (this.clock.monotonicMs() - this.#toldMs >= TELL_EVERY_MS) this.#tellLeftOut();
    this.#lines.spend(1);
    this.output.line(levelOf(text, stream), cut(text));
  }

  /** Counts bytes that were read; resolves when more may be read. */
  onRead(bytes: number): Promise<void> | undefined {
    this.#work.spend(bytes);
    const ms = this.#work.shortMs();
    return ms > 0 ? this.clock.sleep(ms) : undefined;
  }

  /** Says something of the cloud's own. */
  note(level: Level, message: string): void {
    this.#tellLeftOut();
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

  /** Says how many lines were left out since it was last said. To be called at the end. */
  end(): void {
    this.#tellLeftOut();
  }

  #remember(text: string): void {
    const over = text.length > TAIL_LINE_LENGTH;
    this.#tail.push(over ? `${text.slice(0, TAIL_LINE_LENGTH)}…` : text);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
  }

  #tellLeftOut(): void {
    if (this.#leftOut === 0) return;
    const text = `left out ${this.#leftOut} lines that the script printed; ` +
      `more than ${LINES_PER_SECOND} a second are too many for the log`;
    this.#leftOut = 0;
    this.#toldMs = this.clock.monotonicMs();
    this.output.line("warn", text);
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

function cut(line: string): string {
  const over = line.length - LONGEST_LINE;
  return over > 0 ? `${line.slice(0, LONGEST_LINE)}… (${over} more characters)` : line;
}
