/** The script that a module's package has for its first run. */
import { isAbsolute, join, relative, resolve } from "node:path";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { describeExit, type ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { ModuleOutput } from "./module_output.ts";

/** Longest time of a first-run script unless the configuration specifies otherwise. */
export const FIRST_RUN_TIMEOUT_MS = 60 * 60_000;
/** From TERM to KILL for a script that takes too long. */
const STOP_GRACE_MS = 5_000;

const MANIFEST = "meta.json";
const MARKER = ".first_run_succeeded";

export interface FirstRunOptions {
  readonly moduleName: string;
  /** Folder with `meta.json`. */
  readonly root: string;
  /** The script runs once for each. */
  readonly version: string;
  readonly timeoutMs: number;
  /** The module's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  /** The module's logger. */
  readonly log: Logger;
  /** Notified when the script is started; not called when there is nothing to run. */
  readonly onStart: () => void;
}

/**
 * Runs the script that `first_run` of `meta.json` names, unless it has succeeded for this version.
 * That is remembered in a file next to `meta.json`, so a package that is unpacked again runs it
 * again.
 *
 * @throws when the script fails, takes too long, or `meta.json` cannot be used; the signal's reason.
 */
export async function firstRun(options: FirstRunOptions, signal: AbortSignal): Promise<void> {
  const { root, version, log } = options;
  const script = await scriptOf(root);
  if (script === undefined) return;
  const marker = join(root, MARKER);
  const done = JSON.stringify({ version, script: relative(root, script) });
  if (await readIfExists(marker) === done) return;
  log.info("running the first-run script of the module", { script, version });
  options.onStart();
  await runScript(script, options, signal);
  await writeFileAtomic(marker, done, { mode: 0o644 });
  log.info("the first-run script of the module succeeded");
}

async function scriptOf(root: string): Promise<string | undefined> {
  const path = join(root, MANIFEST);
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is no JSON: ${(error as Error).message}`, { cause: error });
  }
  const name = (manifest as { first_run?: unknown } | null)?.first_run;
  if (name === undefined || name === "") return undefined;
  if (typeof name !== "string") throw new Error(`${path}: first_run must be the path of a script`);
  const script = resolve(root, name);
  const inside = relative(root, script);
  if (inside === "" || inside.startsWith("..") || isAbsolute(inside)) {
    throw new Error(`${path}: first_run is ${name}, which lies outside the module's folder`);
  }
  return script;
}

async function runScript(
  script: string,
  options: FirstRunOptions,
  signal: AbortSignal,
): Promise<void> {
  const { processes, clock, root, env, timeoutMs, moduleName } = options;
  const output = new ModuleOutput(options.log.child("FirstRun"), clock);
  const child = processes.start({
    program: script,
    cwd: root,
    env,
    onLine: (stream, line) => output.onLine(stream, line),
    onRead: (bytes) => output.onRead(bytes),
  });
  let late = false;
  const stop = () => void child.stop({ graceMs: STOP_GRACE_MS });
  const timer = clock.setTimer(timeoutMs, () => {
    late = true;
    stop();
  });
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const exit = await child.exited;
  timer.cancel();
  signal.removeEventListener("abort", stop);
  output.end();
  signal.throwIfAborted();
  const what = `the first-run script of module ${moduleName}, ${script},`;
  if (late) throw new Error(`${what} took longer than ${timeoutMs / 1000} s`);
  if (exit.code !== 0) throw new Error(`${what} ${describeExit(exit)}; see its output in the log`);
}
