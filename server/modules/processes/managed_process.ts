/** One program of the configuration, kept running. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import { parseSignal } from "../../../shared/config/stop_signal.ts";
import type { ProcessConfig } from "../../../shared/config/remotes.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import {
  type ChildCommand,
  type ChildProcess,
  describeExit,
  type ExitInfo,
  type OutputStream,
  type ProcessRunner,
} from "../../../shared/base/process/child_process.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import type { FindUser, SystemUser } from "./system_user.ts";

/** Default of `stop_timeout`. Milliseconds. */
const STOP_TIMEOUT_MS = 10_000;
/** A run that lasts longer forgets the failures before it. Milliseconds. */
const STABLE_MS = 60_000;
/** What a killed server left running has this long to end. Milliseconds. */
const STRAY_GRACE_MS = 2_000;

/** What a program is run with. */
export interface RunOptions {
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  /** `rdk.process.<id>` */
  readonly log: Logger;
  /** The environment that every program starts from. */
  readonly environment: Readonly<Record<string, string>>;
  readonly findUser: FindUser;
  /** Marks the program across lives of the server, so that it never runs twice. */
  readonly tree?: string | undefined;
  /** Random numbers in [0, 1) for the backoff. */
  readonly random: () => number;
  /** Called when a start has been tried, and at the end. */
  readonly onStarted: () => void;
  /** Aborts when nobody can wait any longer: the program is killed, whatever its `stop_timeout`. */
  readonly hurry: AbortSignal;
}

/**
 * Runs a program until the signal aborts; then ends it with everything it started and resolves.
 * One that ends on its own is started again with backoff, unless it is `one_shot`. Never rejects.
 */
export async function runProcess(
  config: ProcessConfig,
  options: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, random } = options;
  const backoff = new Backoff({ minMs: 1_000, maxMs: 60_000, random });
  await endStray(options);
  while (!signal.aborted) {
    const startMs = clock.monotonicMs();
    await runOnce(config, options, signal);
    if (signal.aborted || config.one_shot) break;
    if (clock.monotonicMs() - startMs >= STABLE_MS) backoff.reset();
    const waitMs = Math.round(backoff.next());
    log.info("the process is started again", { in_ms: waitMs });
    await clock.sleep(waitMs, signal).catch(() => {
      // Aborted: the loop ends.
    });
  }
  options.onStarted();
}

async function endStray({ processes, tree, log }: RunOptions): Promise<void> {
  if (tree === undefined) return;
  try {
    const mark = { pid: 0, started: "", tree };
    const ended = await processes.endStray(mark, { graceMs: STRAY_GRACE_MS });
    if (ended > 0) {
      log.warn("killed what a crashed server had left running", {
        event: "leftovers_killed",
        processes: ended,
      });
    }
  } catch (error) {
    log.warn("what a crashed server may have left running cannot be killed", { error });
  }
}

async function runOnce(
  config: ProcessConfig,
  options: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  const { processes, log, onStarted } = options;
  let lastError = "";
  const onLine = (stream: OutputStream, line: string) => {
    if (stream === "stderr" && line.trim() !== "") lastError = line;
    if (config.log) log[stream === "stderr" ? "warn" : "info"](line);
  };
  try {
    const command = await commandOf(config, options, onLine);
    if (signal.aborted) return;
    const child = processes.start(command);
    log.info("the process has started", { pid: child.mark.pid, program: config.name });
    onStarted();
    const info = await untilEnd(child, config, options, signal);
    if (signal.aborted) return log.info(`the process ${describeExit(info)}`);
    const said = lastError === "" || config.log ? {} : { last_line: lastError };
    const text = `the process ${describeExit(info)}`;
    if (info.code === 0) log.info(text);
    else log.error(text, { event: "process_down", ...said });
  } catch (error) {
    log.error(`the process does not run: ${toError(error).message}`, { event: "process_down" });
    onStarted();
  }
}

async function commandOf(
  config: ProcessConfig,
  { environment, findUser, tree }: RunOptions,
  onLine: ChildCommand["onLine"],
): Promise<ChildCommand> {
  const user = config.username ? await findUser(config.username) : undefined;
  return {
    program: config.name,
    args: config.args ?? [],
    ...(config.cwd && { cwd: config.cwd }),
    env: { ...environment, ...(user && variablesOf(user)), ...config.env },
    ...(tree !== undefined && { tree }),
    ...(user && !user.isSelf && { user: { uid: user.uid, gid: user.gid } }),
    onLine,
  };
}

/** What a program reads to learn whose it is. */
function variablesOf({ name, home }: SystemUser): Record<string, string> {
  return { HOME: home, USER: name, LOGNAME: name };
}

/** Resolves when the program has exited, on its own or because the signal aborted. */
async function untilEnd(
  child: ChildProcess,
  config: ProcessConfig,
  { log, hurry }: RunOptions,
  signal: AbortSignal,
): Promise<ExitInfo> {
  const end = () => {
    const graceMs = stopTimeoutMs(config);
    const name = parseSignal(config.stop_signal ?? "")?.name.slice("SIG".length) ?? "TERM";
    child.stop({ graceMs, signal: name }).catch((error) => {
      log.error(`the process is killed: ${toError(error).message}`, {
        event: "process_killed",
        signal: name,
      });
      void child.kill();
    });
  };
  const kill = () => void child.kill();
  signal.addEventListener("abort", end, { once: true });
  hurry.addEventListener("abort", kill, { once: true });
  try {
    return await child.exited;
  } finally {
    signal.removeEventListener("abort", end);
    hurry.removeEventListener("abort", kill);
  }
}

function stopTimeoutMs({ stop_timeout: text }: ProcessConfig): number {
  return text ? parseGoDuration(text) : STOP_TIMEOUT_MS;
}
