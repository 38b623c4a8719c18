import type {
  ChildCommand,
  ChildProcess,
  ExitInfo,
  OutputStream,
  ProcessMark,
  ProcessRunner,
} from "./child_process.ts";
import { SpawnError } from "./child_process.ts";

/** Processes that only tests know of. They do what the test wants. */
export class FakeProcesses implements ProcessRunner {
  /** Everything started so far, in order. */
  readonly started: FakeChild[] = [];
  /** Marks given to `endStray`, in order. */
  readonly strays: ProcessMark[] = [];
  /** The next start fails with this text when set. */
  failWith: string | undefined;
  /** What every new child does at once: print a ready line, for example. */
  onStart: (child: FakeChild) => void = () => {};
  #nextPid = 1000;

  start(command: ChildCommand): FakeChild {
    if (this.failWith !== undefined) throw new SpawnError(this.failWith);
    const child = new FakeChild(command, this.#nextPid++);
    this.started.push(child);
    queueMicrotask(() => this.onStart(child));
    return child;
  }

  endStray(mark: ProcessMark): Promise<number> {
    this.strays.push(mark);
    return Promise.resolve(0);
  }

  /** The child started last. */
  get last(): FakeChild {
    const child = this.started.at(-1);
    if (!child) throw new Error("nothing was started");
    return child;
  }

  /** How many of the started ones have not ended. */
  get running(): number {
    return this.started.filter((child) => child.ended === undefined).length;
  }
}

/** One of {@link FakeProcesses}. */
export class FakeChild implements ChildProcess {
  readonly mark: ProcessMark;
  readonly command: ChildCommand;
  readonly exited: Promise<ExitInfo>;
  /** "TERM", "KILL" and others in the order they came. */
  readonly signals: string[] = [];
  /** When true it continues after a TERM until killed. */
  ignoresTerm = false;
  ended: ExitInfo | undefined;
  readonly #resolve: (info: ExitInfo) => void;

  constructor(command: ChildCommand, pid: number) {
    this.command = command;
    this.mark = { pid, started: `start-${pid}`, tree: command.tree ?? `tree-${pid}` };
    const { promise, resolve } = Promise.withResolvers<ExitInfo>();
    this.exited = promise;
    this.#resolve = resolve;
  }

  /** Prints a line, which is read at once. */
  print(line: string, stream: OutputStream = "stdout"): void {
    this.command.onLine(stream, line);
    void this.command.onRead?.(line.length + 1);
  }

  /** Ends on its own. */
  exit(code: number | null, signal: string | null = null): void {
    this.ended ??= { code, signal };
    this.#resolve(this.ended);
  }

  /** Here the grace never runs out: a child that ignores TERM waits for `kill` or `exit`. */
  async stop({ signal = "TERM" }: { graceMs: number; signal?: string }): Promise<ExitInfo> {
    this.signals.push(signal);
    if (!this.ignoresTerm) this.exit(null, `SIG${signal}`);
    return await this.exited;
  }

  async kill(): Promise<ExitInfo> {
    this.signals.push("KILL");
    this.exit(null, "SIGKILL");
    return await this.exited;
  }
}
