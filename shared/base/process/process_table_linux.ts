import type { ProcessMark } from "./child_process.ts";
import { type EndSignal, type ProcessTable, TREE_VARIABLE } from "./process_table.ts";

/** What /proc reports of one process. */
interface Entry {
  readonly pid: number;
  readonly group: number;
  readonly started: string;
}

/** The processes of a Linux system, from /proc. */
export class LinuxProcessTable implements ProcessTable {
  readonly #root: string;
  #bootId: string | undefined;

  /** @param root where procfs is mounted. */
  constructor(root = "/proc") {
    this.#root = root;
  }

  startOf(pid: number): string | undefined {
    return this.#entry(pid)?.started;
  }

  groupOf(mark: ProcessMark): number[] {
    return this.#tree(mark).filter(({ group }) => group === mark.pid).map(({ pid }) => pid);
  }

  membersOf(mark: ProcessMark): number[] {
    return this.#tree(mark).map(({ pid }) => pid);
  }

  signal(pids: readonly number[], signal: EndSignal): void {
    for (const pid of pids) {
      try {
        Deno.kill(pid, `SIG${signal}` as Deno.Signal);
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    }
  }

  #tree(mark: ProcessMark): Entry[] {
    const entries = this.#entries();
    const ours = new Set(
      entries.filter((entry) =>
        (entry.pid === mark.pid && entry.started === mark.started) || this.#carries(entry.pid, mark)
      ),
    );
    // The number of a group stays taken as long as one of ours is in it. Group 0 is no group: so
    // look kernel threads, and processes whose group lies outside this container.
    const isOurGroup = mark.pid > 0 && !this.#isTaken(mark, entries) &&
      entries.some((entry) =>
        entry.group === mark.pid && (ours.has(entry) || this.#isBecoming(entry.pid))
      );
    return entries.filter((entry) => ours.has(entry) || (isOurGroup && entry.group === mark.pid));
  }

  /** Whether another process has the number of the first one, or all was before the last boot. */
  #isTaken(mark: ProcessMark, entries: readonly Entry[]): boolean {
    // Without a start it had ended when it was looked at.
    const isEarlier = mark.started !== "" && !mark.started.startsWith(`${this.#boot()}:`);
    return isEarlier ||
      entries.some(({ pid, started }) => pid === mark.pid && started !== mark.started);
  }

  /** While a process becomes another program (execve) it shows no environment. */
  #isBecoming(pid: number): boolean {
    return readOrUndefined(`${this.#root}/${pid}/environ`) === "";
  }

  #entries(): Entry[] {
    const entries: Entry[] = [];
    for (const { name } of Deno.readDirSync(this.#root)) {
      const entry = /^\d+$/.test(name) ? this.#entry(Number(name)) : undefined;
      if (entry) entries.push(entry);
    }
    return entries;
  }

  /** Undefined for processes that are gone, and for those that only wait to be collected. */
  #entry(pid: number): Entry | undefined {
    const stat = readOrUndefined(`${this.#root}/${pid}/stat`);
    if (stat === undefined) return undefined;
    // The second field is the program's name in brackets and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, , group] = fields;
    const ticks = fields[19]; // field 22: start, in clock ticks since boot
    if (state === "Z" || state === "X" || ticks === undefined) return undefined;
    return { pid, group: Number(group), started: `${this.#boot()}:${ticks}` };
  }

  /** Ticks count from the boot, and pids restart with it. */
  #boot(): string {
    this.#bootId ??= readOrUndefined(`${this.#root}/sys/kernel/random/boot_id`)?.trim() ?? "";
    return this.#bootId;
  }

  #carries(pid: number, mark: ProcessMark): boolean {
    if (mark.tree === "") return false;
    const environment = readOrUndefined(`${this.#root}/${pid}/environ`) ?? "";
    const start = `\0${environment}`.indexOf(`\0${TREE_VARIABLE}=`);
    if (start < 0) return false;
    const value = environment.slice(start + TREE_VARIABLE.length + 1).split("\0", 1)[0] ?? "";
    return value.split(":").includes(mark.tree);
  }
}

function readOrUndefined(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined; // it has ended meanwhile, or belongs to another user
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || (error instanceof Error &&
    (error as Error & { code?: unknown }).code === "ESRCH");
}
