import type { ProcessMark } from "./child_process.ts";
import type { EndSignal, ProcessTable } from "./process_table.ts";
import { stopEventName } from "./stop_event.ts";
import { type ProcessJob, type WindowsKernel, windowsKernel } from "./windows_kernel.ts";
import type { SnapshotEntry } from "./windows_structs.ts";

/** Runs a system command to its end. */
export type RunCommand = (program: string, args: string[]) => void;

/**
 * The processes of a Windows system. What this program starts is in a job, so that everything that
 * comes of it is found when its leader has ended, and ends with this program however that ends.
 * Without a job (of a predecessor's process) descendants are found by who started whom.
 */
export class WindowsProcessTable implements ProcessTable {
  readonly #run: RunCommand;
  #kernel: WindowsKernel | undefined;
  /** By the mark of the tree. */
  readonly #jobs = new Map<string, ProcessJob>();

  constructor(kernel?: WindowsKernel, run: RunCommand = runCommand) {
    this.#kernel = kernel;
    this.#run = run;
  }

  startOf(pid: number): string | undefined {
    return this.#system.startOf(pid)?.toString();
  }

  adopt({ pid, tree }: ProcessMark): void {
    const job = this.#system.newJob();
    if (!job) return;
    // It may have started others already; those are found, too.
    if (job.add(pid)) this.#jobs.set(tree, job);
    else job.close();
  }

  release({ tree }: ProcessMark): void {
    this.#jobs.get(tree)?.close();
    this.#jobs.delete(tree);
  }

  groupOf(mark: ProcessMark): number[] {
    return this.membersOf(mark);
  }

  membersOf(mark: ProcessMark): number[] {
    const isAlive = (pid: number) => this.#system.startOf(pid) !== undefined;
    const inJob = this.#jobs.get(mark.tree)?.pids() ?? [];
    return [...new Set([...inJob.filter(isAlive), ...this.#descendants(mark)])];
  }

  /**
   * KILL ends them by force. Everything else asks: by the event that our own programs wait for;
   * where nobody does, by closing windows, which is all that Windows knows, and mostly in vain.
   */
  signal(pids: readonly number[], signal: EndSignal, { tree }: ProcessMark): void {
    if (signal === "KILL") {
      this.#jobs.get(tree)?.terminate();
      for (const pid of pids) this.#system.terminate(pid);
      return;
    }
    if (tree !== "" && this.#system.setEvent(stopEventName(tree))) return;
    for (const pid of pids) this.#run("taskkill.exe", ["/PID", String(pid)]);
  }

  get #system(): WindowsKernel {
    return this.#kernel ??= windowsKernel();
  }

  /** The leader, if it lives, and those that it and its children started. */
  #descendants({ pid, started }: ProcessMark): number[] {
    const leader = /^\d+$/.test(started) ? BigInt(started) : undefined;
    if (leader === undefined) return [];
    const entries = this.#system.snapshot();
    const now = this.#system.startOf(pid);
    const found = now === leader ? [pid] : [];
    // Another process may have the number by now; what started after that one is its own.
    const until = now === undefined || now === leader ? undefined : now;
    this.#collect({ pid, from: leader, until }, entries, found);
    return found;
  }

  #collect(
    parent: { readonly pid: number; readonly from: bigint; readonly until?: bigint | undefined },
    entries: readonly SnapshotEntry[],
    found: number[],
  ): void {
    for (const entry of entries) {
      if (entry.parent !== parent.pid || entry.pid === parent.pid) continue;
      if (found.includes(entry.pid)) continue;
      const from = this.#system.startOf(entry.pid);
      // A number that was used again: the process is older than who seems to have started it.
      if (from === undefined || from < parent.from) continue;
      if (parent.until !== undefined && from >= parent.until) continue;
      found.push(entry.pid);
      this.#collect({ pid: entry.pid, from }, entries, found);
    }
  }
}

function runCommand(program: string, args: string[]): void {
  try {
    new Deno.Command(program, { args, stdin: "null", stdout: "null", stderr: "null" }).outputSync();
  } catch {
    // Without it there is no asking; the force that follows does not need it.
  }
}
