import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import process from "node:process";
import { TREE_VARIABLE } from "../../shared/base/process/process_table.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";

/** How a program is started. */
export interface ProgramOptions {
  /** Name for messages, for example `machine-cloud`. */
  name: string;
  command: string;
  args?: readonly string[];
  /** Added to this process's own environment; `undefined` takes a variable away. */
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
  /** Gets every line of standard output and standard error. */
  onLine?: (line: string) => void;
}

/** How a program ended. */
export interface ProgramExit {
  /** Exit code; undefined when a signal ended it or it could not be started. */
  code: number | undefined;
  /** What ended it, for people: `exit code 1`, `signal SIGKILL`. */
  reason: string;
}

const KEPT_LINES = 400;

/**
 * A child process that a test can treat badly: a signal reaches this process alone, and what it
 * started lives on until `stop()`.
 */
export class Program {
  readonly name: string;
  /** Resolves once, when the process has ended; never rejects. */
  readonly exited: Promise<ProgramExit>;
  #child: ChildProcess;
  /** Found in the environment of everything it starts. */
  readonly #tree = crypto.randomUUID();
  #lines: string[] = [];
  #watchers = new Set<(line: string) => void>();
  #exit: ProgramExit | undefined;

  private constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#child = spawn(options.command, [...options.args ?? []], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: mergeEnv({ ...options.env, [TREE_VARIABLE]: this.#nestedTree() }),
      detached: process.platform !== "win32",
      stdio: ["ignore", "pipe", "pipe"],
    });
    if (options.onLine !== undefined) this.#watchers.add(options.onLine);
    const ended = [this.#child.stdout, this.#child.stderr].map((stream) => this.#read(stream));
    this.exited = this.#waitForExit(ended);
  }

  static start(options: ProgramOptions): Program {
    return new Program(options);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** How it ended; undefined while it runs. */
  get exit(): ProgramExit | undefined {
    return this.#exit;
  }

  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  /** What to say when it ended but was meant to run on. */
  endedError(): ProgramEndedError {
    return new ProgramEndedError(this);
  }

  /** The last lines it wrote, oldest first; at most 400. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /**
   * Waits for a line that fits, the lines written already included.
   * @throws ProgramEndedError when the program ends first, Error after `timeoutMs`.
   */
  async waitForLine(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray> {
    for (const line of this.#lines) {
      const match = pattern.exec(line);
      if (match !== null) return match;
    }
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const watch = (line: string) => {
      const match = pattern.exec(line);
      if (match !== null) resolve(match);
    };
    this.#watchers.add(watch);
    const timer = setTimeout(() => {
      reject(
        new Error(`${this.name} did not write ${pattern} within ${timeoutMs} ms\n${this.tail()}`),
      );
    }, timeoutMs);
    const ended = this.exited.then(() => {
      throw this.endedError();
    });
    try {
      return await Promise.race([promise, ended]);
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watch);
    }
  }

  /** Waits until it has ended on its own. @throws {Error} with its last lines after `timeoutMs` */
  async waitForEnd(timeoutMs = 90_000): Promise<ProgramExit> {
    const limit = { clock: systemClock, deadlineMs: timeoutMs, what: this.name };
    return await withDeadline(() => this.exited, limit).catch((error) => {
      throw new Error(`${error.message} to end\n${this.tail()}`);
    });
  }

  /** The last lines it wrote as one text, each indented. */
  tail(count = 20): string {
    return this.#lines.slice(-count).map((line) => `  ${line}`).join("\n");
  }

  /** Sends a signal to this process alone, or to its whole group. */
  signal(signal: NodeJS.Signals, to: "process" | "group" = "process"): void {
    if (this.#exit !== undefined) return;
    try {
      // Not this.#child.kill(): Deno then reports the signal as what ended the process, always.
      process.kill(to === "process" || process.platform === "win32" ? this.pid : -this.pid, signal);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }

  /**
   * Asks it to end and kills it after `graceMs`; then kills everything that it started and that is
   * still there, also when the program itself had ended long before.
   */
  async stop(graceMs: number): Promise<ProgramExit> {
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL", "group"), graceMs);
    const exit = await this.exited;
    clearTimeout(timer);
    // The process is gone, so only the tree says who belonged to it: its number may be another's.
    await systemProcesses().endStray({ pid: -1, started: "", tree: this.#tree }, { graceMs: 0 });
    return exit;
  }

  #nestedTree(): string {
    const outer = process.env[TREE_VARIABLE];
    return outer ? `${outer}:${this.#tree}` : this.#tree;
  }

  async #waitForExit(outputs: Promise<void>[]): Promise<ProgramExit> {
    const { promise, resolve } = Promise.withResolvers<ProgramExit>();
    this.#child.once("error", (error) => {
      resolve({ code: undefined, reason: `could not be started: ${error.message}` });
    });
    this.#child.once("exit", (code, signal) => {
      resolve(
        signal === null
          ? { code: code ?? undefined, reason: `exit code ${code}` }
          : { code: undefined, reason: `signal ${signal}` },
      );
    });
    const exit = await promise;
    // A child of the program may hold the pipes open after it has ended: do not wait forever.
    await Promise.race([Promise.all(outputs), new Promise((done) => setTimeout(done, 500))]);
    this.#exit = exit;
    return exit;
  }

  async #read(stream: NodeJS.ReadableStream | null): Promise<void> {
    if (stream === null) return;
    for await (const line of createInterface({ input: stream })) {
      this.#lines.push(line);
      if (this.#lines.length > KEPT_LINES) this.#lines.shift();
      for (const watch of this.#watchers) watch(line);
    }
  }
}

/** A program ended that was meant to run on. */
export class ProgramEndedError extends Error {
  override name = "ProgramEndedError";
  constructor(readonly program: Program) {
    super(`${program.name} ended (${program.exit?.reason}). Its last lines:\n${program.tail()}`);
  }
}

function mergeEnv(added: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const env = { ...process.env, ...added };
  for (const [name, value] of Object.entries(env)) if (value === undefined) delete env[name];
  return env;
}
