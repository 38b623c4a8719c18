import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import type { ShellRequest } from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ChildProcess, ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { nextRequest } from "./next_request.ts";
import type { Pty, TerminalSize } from "./pty.ts";

/** What terminals have when nobody says otherwise. */
const DEFAULT_SIZE: TerminalSize = { columns: 80, rows: 24 };
/** The kernel takes 16 bits; nothing has a screen of more. */
const LONGEST_SIDE = 10_000;
/** End of transmission, as Ctrl-D types it. */
const END_OF_INPUT = new Uint8Array([4]);
/** From the hang-up to the KILL. Milliseconds. */
const HANG_UP_MS = 2_000;

/** What a terminal needs from outside. */
export interface TerminalEnvironment {
  readonly clock: Clock;
  readonly processes: ProcessRunner;
  readonly variables: () => Readonly<Record<string, string>>;
  readonly openPty: (size: TerminalSize) => Pty;
  readonly log: Logger;
}

/** What the caller is sent. */
export type ShellOutput = { dataOut: string } | { eof: true };

/**
 * Runs the user's shell in a terminal until it ends or the caller leaves; then everything that it
 * started is killed. The end of the caller's stream is typed as Ctrl-D.
 */
export async function* runTerminal(
  requests: AsyncIterable<ShellRequest>,
  signal: AbortSignal,
  environment: TerminalEnvironment,
): AsyncGenerator<ShellOutput> {
  const stream = requests[Symbol.asyncIterator]();
  const first = await nextRequest(stream, signal);
  if (!first) return;
  const pty = environment.openPty(DEFAULT_SIZE);
  let child: ChildProcess | undefined;
  const hangUp = async () => {
    await pty.close();
    if (child) await end(child, environment.clock);
  };
  // Not only at the end of this generator: nobody may be there any more who asks it for more.
  const abort = () => void hangUp();
  signal.addEventListener("abort", abort, { once: true });
  try {
    child = startShell(pty.path, environment);
    void child.exited.then(() => pty.drain());
    void type(first, stream, { pty, signal, log: environment.log });
    const decoder = new TextDecoder();
    for (let bytes = await pty.read(); bytes; bytes = await pty.read()) {
      const dataOut = decoder.decode(bytes, { stream: true });
      if (dataOut !== "") yield { dataOut };
    }
    signal.throwIfAborted();
    yield { eof: true };
  } finally {
    signal.removeEventListener("abort", abort);
    await hangUp();
  }
}

/**
 * The leader of a session becomes controlled by the first terminal that it opens, so a shell that
 * opens it before it becomes the user's is all it takes.
 */
function startShell(path: string, { processes, variables }: TerminalEnvironment): ChildProcess {
  const { LINES: _lines, COLUMNS: _columns, ...env } = variables();
  const shell = env["SHELL"] || "/bin/sh";
  return processes.start({
    program: "/bin/sh",
    args: ["-c", 'cd 2>/dev/null; exec "$0" -i <"$1" >"$1" 2>&1', shell, path],
    env: { ...env, TERM: "xterm-256color" },
    onLine: () => {}, // all output goes to the terminal
  });
}

interface Typing {
  readonly pty: Pty;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Hands over what the caller types. Never rejects. */
async function type(
  first: ShellRequest,
  stream: AsyncIterator<ShellRequest>,
  { pty, signal, log }: Typing,
): Promise<void> {
  try {
    for (let request: ShellRequest | undefined = first; request;) {
      const size = requestedSize(request.extra);
      if (size) pty.resize(size);
      await pty.write(new TextEncoder().encode(request.dataIn));
      request = await nextRequest(stream, signal);
    }
    await pty.write(END_OF_INPUT);
  } catch (error) {
    log.debug(`nothing more is typed into the shell: ${toError(error).message}`);
    await pty.close();
  }
}

/** Size in an out-of-band message, or in the last of several. */
function requestedSize(extra: JsonObject | undefined): TerminalSize | undefined {
  if (!extra) return undefined;
  const { messages } = extra;
  const all: JsonValue[] = Array.isArray(messages) ? messages : [extra];
  let size: TerminalSize | undefined;
  for (const message of all) {
    if (!isJsonObject(message) || message["message"] !== "window-change") continue;
    const { cols: columns, rows } = message;
    if (isSide(columns) && isSide(rows)) size = { columns, rows };
  }
  return size;
}

function isSide(value: JsonValue | undefined): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= LONGEST_SIDE;
}

/** The hang-up ends what is well behaved. */
async function end(child: ChildProcess, clock: Clock): Promise<void> {
  const timer = clock.setTimer(HANG_UP_MS, () => void child.kill());
  await child.exited;
  timer.cancel();
}
