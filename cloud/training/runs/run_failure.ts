import { Code } from "@connectrpc/connect";
import { describeExit, type ExitInfo } from "../../../shared/base/process/child_process.ts";

/** A run came to nothing by what the script, its archive or its limits are. For people. */
export class RunFailedError extends Error {
  override readonly name = "RunFailedError";

  constructor(readonly code: Code, message: string) {
    super(message);
  }
}

/** What signals mean that a script gets without anybody having sent them. */
const SIGNALS: Readonly<Record<string, string>> = {
  SIGKILL: "was killed (SIGKILL), most likely by the system because the host's memory was " +
    "used up; smaller batches or images need less",
  SIGSEGV: "crashed in a library (SIGSEGV, a wrong memory access)",
  SIGBUS: "crashed in a library (SIGBUS, a wrong memory access, or a disk that is full)",
  SIGABRT: "crashed in a library (SIGABRT)",
  SIGILL: "crashed (SIGILL): a library was built for another kind of processor",
  SIGFPE: "crashed in a library (SIGFPE, a wrong calculation)",
  SIGXFSZ: "was terminated (SIGXFSZ): one of its files grew over the limit of disk space",
  SIGXCPU: "was terminated (SIGXCPU): it used more processor time than allowed",
  SIGTERM: "was terminated from outside (SIGTERM)",
};
const NUMBERS: Readonly<Record<number, string>> = {
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  15: "SIGTERM",
  24: "SIGXCPU",
  25: "SIGXFSZ",
};

/** How a program ended that did not end well: `exited with code 1`, `was killed …`. */
export function endText(exit: ExitInfo): string {
  // A shell between the cloud and the program reports its signal so.
  const signal = exit.signal ?? NUMBERS[(exit.code ?? 0) - 128];
  return (signal === undefined ? undefined : SIGNALS[signal]) ?? describeExit(exit);
}

/** `what` failed; the last lines show why. */
export function failedWith(what: string, exit: ExitInfo, tail: string): string {
  const said = tail === "" ? "; it printed nothing" : `; its last lines:\n${tail}`;
  return `${what} ${endText(exit)}${said}`;
}

/** A script that ended with 0 left nothing behind. */
export function emptyOutput(tail: string): RunFailedError {
  const said = tail === "" ? "" : `; its last lines:\n${tail}`;
  return new RunFailedError(
    Code.FailedPrecondition,
    "the script exited without an error but left no file in the folder of " +
      `--model_output_directory, so there is no model${said}`,
  );
}
