import { Buffer } from "node:buffer";
import {
  type ChildCommand,
  describeExit,
  LONGEST_LINE,
  type ProcessRunner,
} from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { formatGoDuration } from "../../../shared/base/time/duration.ts";

/** Standard output of more bytes is refused. Up to here lines arrive whole. */
const LONGEST_OUTPUT = LONGEST_LINE;
/** Lines of standard error that an error shows, and characters of each. */
const SHOWN_LINES = 5;
const SHOWN_CHARACTERS = 200;
/** From TERM to KILL. Milliseconds. */
const GRACE_MS = 1_000;

export interface ProgramRun {
  readonly command: Omit<ChildCommand, "onLine">;
  readonly timeoutMs: number;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

/** A program that gave no output that counts. One line: which, why, what it said. */
class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/**
 * Runs a program to its end. When this settles, everything that the program started is gone.
 *
 * @returns its standard output.
 * @throws {SpawnError} when it cannot be started.
 * @throws {ProgramError} when it fails, takes too long or prints too much; the signal's reason
 *   when aborted.
 */
export async function runProgram(run: ProgramRun): Promise<string> {
  const { command: { program }, timeoutMs, signal } = run;
  signal.throwIfAborted();
  const lines: string[] = [];
  const complaints: string[] = [];
  let bytes = 0;
  let problem: string | undefined;
  const child = run.processes.start({
    ...run.command,
    onLine(stream, line) {
      if (stream === "stderr") {
        complaints.push(line.slice(0, SHOWN_CHARACTERS));
        if (complaints.length > SHOWN_LINES) complaints.shift();
        return;
      }
      if (problem !== undefined) return;
      bytes += Buffer.byteLength(line) + 1;
      if (bytes <= LONGEST_OUTPUT) lines.push(line);
      else end(`printed more than ${LONGEST_OUTPUT} bytes`);
    },
  });
  const end = (why: string) => {
    problem ??= why;
    void child.stop({ graceMs: GRACE_MS });
  };
  const abort = () => end("was killed");
  signal.addEventListener("abort", abort, { once: true });
  const timer = run.clock.setTimer(
    timeoutMs,
    () => end(`did not exit within ${formatGoDuration(timeoutMs)} and was terminated`),
  );
  const exit = await child.exited;
  timer.cancel();
  signal.removeEventListener("abort", abort);
  signal.throwIfAborted();
  if (problem === undefined && exit.code !== 0) problem = describeExit(exit);
  if (problem === undefined) return lines.join("\n");
  const said = complaints.length > 0 ? `; its output: ${complaints.join(" | ")}` : "";
  throw new ProgramError(`${program} ${problem}${said}`);
}
