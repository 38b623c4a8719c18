import { randomBytes } from "node:crypto";
import { describeFsError, fsErrorCode } from "../files/fs_error.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import {
  type ChildCommand,
  type ChildProcess,
  type ExitInfo,
  LONGEST_LINE,
  type OutputStream,
  type ProcessMark,
  type ProcessRunner,
  SpawnError,
} from "./child_process.ts";
import { LineSplitter } from "./line_splitter.ts";
import { type ProcessTable, TREE_VARIABLE } from "./process_table.ts";
import { LinuxProcessTable } from "./process_table_linux.ts";
import { WindowsProcessTable } from "./process_table_windows.ts";

/** What a program leaves behind has this long to end after a TERM. */
const LEFTOVER_GRACE_MS = 2_000;
/** After a KILL a process goes at once, unless it hangs in the kernel; then nothing helps. */
const KILLED_WAIT_MS = 5_000;
/** Something outside the tree may hold the output open; the exit is reported all the same. */
const OUTPUT_WAIT_MS = 1_000;
const LOOK_EVERY_MS = 50;

export interface SystemProcessesOptions {
  readonly clock?: Clock;
  readonly table?: ProcessTable;
}

/** Real processes of this host, each in a group (and session) of its own. */
export function systemProcesses(options: SystemProcessesOptions = {}): ProcessRunner {
  const clock = options.clock ?? systemClock;
  const table = options.table ??
    (Deno.build.os === "windows" ? new WindowsProcessTable() : new LinuxProcessTable());
  return {
    start: (command) => new SystemChild(command, table, clock),
    endStray: async (mark, { graceMs }) => {
      const found = table.membersOf(mark).length;
      if (found > 0) await endMembers(mark, graceMs, table, clock);
      return found;
    },
  };
}

/** A mark that no other tree has. */
export function newTreeMark(): string {
  return randomBytes(12).toString("hex");
}

class SystemChild implements ChildProcess {
  readonly mark: ProcessMark;
  readonly exited: Promise<ExitInfo>;
  readonly #table: ProcessTable;
  readonly #clock: Clock;
  readonly #killed = new AbortController();
  #hasExited = false;

  constructor(command: ChildCommand, table: ProcessTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
    const tree = command.tree ?? newTreeMark();
    const child = spawn(command, tree);
    this.mark = { pid: child.pid, started: table.startOf(child.pid) ?? "", tree };
    table.adopt?.(this.mark);
    this.exited = this.#run(child, command);
  }

  async stop(
    { graceMs, signal = "TERM" }: { graceMs: number; signal?: string },
  ): Promise<ExitInfo> {
    if (this.#hasExited) return await this.exited;
    this.#table.signal(this.#table.groupOf(this.mark), signal, this.mark);
    const timer = this.#clock.setTimer(graceMs, () => void this.kill());
    try {
      return await this.exited;
    } finally {
      timer.cancel();
    }
  }

  async kill(): Promise<ExitInfo> {
    this.#killed.abort();
    if (!this.#hasExited) this.#table.signal(this.#table.membersOf(this.mark), "KILL", this.mark);
    return await this.exited;
  }

  async #run(child: Deno.ChildProcess, command: ChildCommand): Promise<ExitInfo> {
    const readers = [child.stdout.getReader(), child.stderr.getReader()] as const;
    // What an ended program left in its pipes is read without waiting: it is little.
    const ended = child.status.then(() => undefined);
    const output = Promise.all([
      readLines(readers[0], "stdout", command, ended),
      readLines(readers[1], "stderr", command, ended),
    ]);
    const { code, signal } = await child.status;
    const graceMs = this.#killed.signal.aborted ? 0 : LEFTOVER_GRACE_MS;
    await endMembers(this.mark, graceMs, this.#table, this.#clock);
    this.#table.release?.(this.mark);
    const timer = this.#clock.setTimer(OUTPUT_WAIT_MS, () => {
      for (const reader of readers) void reader.cancel().catch(() => {});
    });
    await output;
    timer.cancel();
    this.#hasExited = true;
    return signal === null ? { code, signal } : { code: null, signal };
  }
}

/** TERM, and KILL after the grace, to whatever of a tree is there; then waits until it is gone. */
async function endMembers(
  mark: ProcessMark,
  graceMs: number,
  table: ProcessTable,
  clock: Clock,
): Promise<void> {
  const members = table.membersOf(mark);
  if (members.length === 0) return;
  if (graceMs > 0) {
    table.signal(members, "TERM", mark);
    if (await areGone(mark, graceMs, table, clock, () => {})) return;
  }
  // Again at each look, because one of them may start another in between.
  const forceAll = (pids: number[]) => table.signal(pids, "KILL", mark);
  await areGone(mark, KILLED_WAIT_MS, table, clock, forceAll);
}

async function areGone(
  mark: ProcessMark,
  deadlineMs: number,
  table: ProcessTable,
  clock: Clock,
  onRemaining: (pids: number[]) => void,
): Promise<boolean> {
  const endMs = clock.monotonicMs() + deadlineMs;
  for (;;) {
    const remaining = table.membersOf(mark);
    if (remaining.length === 0) return true;
    if (clock.monotonicMs() >= endMs) return false;
    onRemaining(remaining);
    await clock.sleep(LOOK_EVERY_MS);
  }
}

function spawn(command: ChildCommand, tree: string): Deno.ChildProcess {
  const { program, args = [], cwd, env, user } = command;
  const outer = Deno.env.get(TREE_VARIABLE);
  try {
    return new Deno.Command(program, {
      args: [...args],
      ...(cwd === undefined ? {} : { cwd }),
      ...user,
      clearEnv: true,
      env: { ...env, [TREE_VARIABLE]: outer ? `${outer}:${tree}` : tree },
      detached: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    const isFolderMissing = cwd !== undefined && fsErrorCode(error) === "ENOENT" && !exists(cwd);
    const path = isFolderMissing ? cwd : program;
    throw new SpawnError(describeFsError(error, isFolderMissing ? "start in" : "start", path), {
      cause: error,
    });
  }
}

async function readLines(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stream: OutputStream,
  { onLine, onRead }: ChildCommand,
  ended: Promise<void>,
): Promise<void> {
  const lines = new LineSplitter(LONGEST_LINE, (line) => onLine(stream, line));
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      lines.push(part.value);
      const pause = onRead?.(part.value.length);
      if (pause) await Promise.race([pause, ended]);
    }
  } catch {
    // A pipe that breaks is one that has ended.
  }
  lines.end();
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
