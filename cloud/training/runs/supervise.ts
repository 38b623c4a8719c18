import { Code } from "@connectrpc/connect";
import type { ExitInfo, ProcessRunner } from "../../../shared/base/process/child_process.ts";
import { SpawnError } from "../../../shared/base/process/child_process.ts";
import { LinuxProcessTable } from "../../../shared/base/process/process_table_linux.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { folderUsage } from "./folder_size.ts";
import { type Breach, diskBreach, type RunLimits, timeBreach, treeBreach } from "./limits.ts";
import { ProcessTree } from "./process_tree.ts";
import { RunFailedError } from "./run_failure.ts";
import type { RunOutput } from "./run_output.ts";

/** A program to run under limits. */
export interface SupervisedCommand {
  /** In words, for reasons: `the script`. */
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Longest time, milliseconds. */
  readonly wallMs: number;
  /** What grows in them counts as disk space. */
  readonly folders: readonly string[];
}

export interface SuperviseOptions {
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  readonly limits: RunLimits;
  readonly output: RunOutput;
  /** Mark of the process tree. */
  readonly tree: string;
  readonly signal: AbortSignal;
}

/** From TERM to KILL for a script that is canceled: time to say goodbye, not to save a model. */
const STOP_GRACE_MS = 3_000;
/** After a KILL a process goes at once, unless it hangs in the kernel; then nothing helps. */
const KILL_TURNS = 100;
const KILL_TURN_MS = 30;
/** Between looks at the processes. */
const LOOK_MS = 250;
/** Between looks at the folders; large ones are looked at less often. */
const DISK_LOOK_MS = 1_000;
/** Looking at folders takes at most this share of the time. */
const DISK_SHARE = 0.1;

/**
 * Runs a program to its end, which comes early when it goes over a limit. Resolves when it and
 * everything that it started is gone.
 *
 * @throws {RunFailedError} for a limit, or when it cannot be started; the signal's reason.
 */
export async function supervise(
  command: SupervisedCommand,
  { processes, clock, limits, output, tree, signal }: SuperviseOptions,
): Promise<ExitInfo> {
  signal.throwIfAborted();
  const { program, args, cwd, env } = command;
  const child = startIt(() =>
    processes.start({
      ...{ program, args, cwd, env, tree },
      onLine: (stream, line) => output.onLine(stream, line),
      onRead: (bytes) => output.onRead(bytes),
    })
  );
  const found = Deno.build.os === "linux"
    ? new ProcessTree(child.mark, new LinuxProcessTable())
    : undefined;
  const ended = new AbortController();
  let breach: Breach | undefined;
  const endFor = (found: Breach | undefined) => {
    if (!found || breach || ended.signal.aborted) return;
    breach = found;
    void child.kill();
  };
  const onAbort = () => void child.stop({ graceMs: STOP_GRACE_MS });
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = clock.setTimer(
    command.wallMs,
    () => endFor(timeBreach(command.what, command.wallMs)),
  );
  const watching = [
    watchProcesses(found, limits, clock, ended.signal, endFor),
    watchFolders(command.folders, limits, clock, ended.signal, endFor),
  ];
  const exit = await child.exited;
  timer.cancel();
  ended.abort();
  signal.removeEventListener("abort", onAbort);
  await Promise.all(watching);
  for (let turn = 0; turn < KILL_TURNS && found && found.killRest() > 0; turn++) {
    await clock.sleep(KILL_TURN_MS);
  }
  signal.throwIfAborted();
  if (breach) throw new RunFailedError(breach.code, breach.reason);
  return exit;
}

function startIt<T>(start: () => T): T {
  try {
    return start();
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    throw new RunFailedError(Code.Internal, error.message);
  }
}

async function watchProcesses(
  found: ProcessTree | undefined,
  limits: RunLimits,
  clock: Clock,
  ended: AbortSignal,
  endFor: (breach: Breach | undefined) => void,
): Promise<void> {
  if (!found) return;
  const look = () => endFor(treeBreach(found.look(limits.memoryBytes), limits));
  await pollLoop(look, { clock, intervalMs: LOOK_MS }, ended);
}

async function watchFolders(
  folders: readonly string[],
  limits: RunLimits,
  clock: Clock,
  ended: AbortSignal,
  endFor: (breach: Breach | undefined) => void,
): Promise<void> {
  const before = await folderUsage(folders);
  const look = async () => {
    const startMs = clock.monotonicMs();
    const now = await folderUsage(folders);
    const bytes = now.bytes - before.bytes;
    endFor(diskBreach({ ...now, bytes, files: now.files - before.files }, limits));
    return Math.max(DISK_LOOK_MS, (clock.monotonicMs() - startMs) / DISK_SHARE);
  };
  await pollLoop(look, { clock, intervalMs: DISK_LOOK_MS }, ended);
}
