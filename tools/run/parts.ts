import {
  type ChildProcess,
  describeExit,
  type ExitInfo,
  type ProcessMark,
  type ProcessRunner,
} from "../../shared/base/process/child_process.ts";

/** How to start one of the parts. */
export interface PartCommand {
  /** Name for messages, for example `machine-cloud`. */
  name: string;
  program: string;
  args: readonly string[];
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  /** Gets everything it prints. */
  onLine: (line: string) => void;
}

const KEPT_LINES = 100;
const SHOWN_LINES = 20;

/** A running program with the last lines it printed. */
export class Part {
  readonly name: string;
  readonly mark: ProcessMark;
  /** Resolves once, when it has ended; never rejects. */
  readonly exited: Promise<ExitInfo>;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  #exit: ExitInfo | undefined;

  constructor(command: PartCommand, runner: ProcessRunner) {
    const { name, program, args, env, onLine } = command;
    this.name = name;
    this.#child = runner.start({
      program,
      args,
      env,
      onLine: (_, line) => {
        this.#lines.push(line);
        if (this.#lines.length > KEPT_LINES) this.#lines.shift();
        onLine(line);
      },
    });
    this.mark = this.#child.mark;
    this.exited = this.#child.exited.then((exit) => this.#exit = exit);
  }

  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  /** The last lines it printed, each indented. */
  tail(): string {
    return this.#lines.slice(-SHOWN_LINES).map((line) => `  ${line}`).join("\n");
  }

  /** Asks it to end; after `graceMs` ends it and everything it started. */
  async stop(graceMs: number): Promise<void> {
    await this.#child.stop({ graceMs });
  }

  /** Ends it and everything it started, at once. */
  async kill(): Promise<void> {
    await this.#child.kill();
  }

  /** Why nothing can continue without it. */
  endedError(): PartEndedError {
    const how = this.#exit === undefined ? "runs" : describeExit(this.#exit);
    return new PartEndedError(`${this.name} ${how}. Its last lines:\n${this.tail()}`);
  }
}

/** A part ended that was meant to run on. */
export class PartEndedError extends Error {
  override name = "PartEndedError";
}
