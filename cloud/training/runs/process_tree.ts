import type { ProcessMark } from "../../../shared/base/process/child_process.ts";
import type { ProcessTable } from "../../../shared/base/process/process_table.ts";
import type { TreeUsage } from "./limits.ts";

/** What /proc reports of one process. */
interface Entry {
  readonly pid: number;
  readonly parent: number;
  /** In clock ticks since boot; unique with the pid. */
  readonly started: string;
  /** Of the process and its children that have ended, in clock ticks. */
  readonly cpuTicks: number;
  readonly pages: number;
}

/** Clock ticks in /proc are of this length on every Linux. */
const TICK_MS = 10;
/** Most systems' size of a memory page, where /proc does not report it. */
const USUAL_PAGE_BYTES = 4096;
const AT_PAGESZ = 6n;
/** Every so many looks all processes are looked through, else only those that are known. */
const FULL_LOOK_EVERY = 8;

/**
 * The processes of one run on Linux: those that carry its mark, and the descendants that do not,
 * because they were started with an environment of their own.
 */
export class ProcessTree {
  /** Start time by pid of all that were ever seen. */
  readonly #known = new Map<number, string>();
  readonly #pageBytes: number;
  #looks = 0;
  #cpuMs = 0;

  constructor(
    private readonly mark: ProcessMark,
    private readonly table: ProcessTable,
    private readonly root = "/proc",
  ) {
    this.#pageBytes = pageBytes(root);
  }

  /** @param limitBytes memory is measured exactly, which costs more, when it seems to be above. */
  look(limitBytes: number): TreeUsage {
    const entries = this.#looks++ % FULL_LOOK_EVERY === 0 ? this.#findAll() : this.#readKnown();
    const ticks = entries.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0);
    this.#cpuMs = Math.max(this.#cpuMs, ticks * TICK_MS);
    const resident = entries.reduce((sum, { pages }) => sum + pages * this.#pageBytes, 0);
    const memoryBytes = resident > limitBytes ? this.#exactBytes(entries) : resident;
    return { memoryBytes, cpuMs: this.#cpuMs, processes: entries.length };
  }

  /**
   * Kills those that the mark does not find. To be called when the run has ended, until it finds
   * none. @returns how many there were.
   */
  killRest(): number {
    const alive = this.#findAll().map(({ pid }) => pid);
    this.table.signal(alive, "KILL", this.mark);
    return alive.length;
  }

  #findAll(): Entry[] {
    const all = allEntries(this.root);
    const isOurs = new Set(this.table.membersOf(this.mark));
    for (const { pid, started } of all) if (this.#known.get(pid) === started) isOurs.add(pid);
    // Children have been started after their parents, but numbers begin again some time.
    for (let before = -1; before !== isOurs.size;) {
      before = isOurs.size;
      for (const { pid, parent } of all) if (isOurs.has(parent)) isOurs.add(pid);
    }
    const ours = all.filter(({ pid }) => isOurs.has(pid));
    for (const { pid, started } of ours) this.#known.set(pid, started);
    return ours;
  }

  /** Those that are known, and what they have started since. */
  #readKnown(): Entry[] {
    const found: Entry[] = [];
    for (const pid of this.#known.keys()) {
      const entry = readEntry(this.root, pid);
      if (!entry || entry.started !== this.#known.get(pid)) {
        this.#known.delete(pid);
        continue;
      }
      found.push(entry);
      // Not every kernel has the list; a full look finds them then.
      const children = readOrUndefined(`${this.root}/${pid}/task/${pid}/children`) ?? "";
      for (const child of children.split(" ").filter(Boolean).map(Number)) {
        const started = this.#known.has(child) ? undefined : readEntry(this.root, child)?.started;
        if (started !== undefined) this.#known.set(child, started); // looked at in this loop
      }
    }
    return found;
  }

  /** Memory that processes share counts once. */
  #exactBytes(entries: readonly Entry[]): number {
    return entries.reduce((sum, { pid, pages }) => {
      const text = readOrUndefined(`${this.root}/${pid}/smaps_rollup`) ?? "";
      const kibibytes = /^Pss:\s+(\d+) kB/m.exec(text)?.[1];
      return sum + (kibibytes === undefined ? pages * this.#pageBytes : Number(kibibytes) * 1024);
    }, 0);
  }
}

function allEntries(root: string): Entry[] {
  const entries: Entry[] = [];
  for (const { name } of Deno.readDirSync(root)) {
    const entry = /^\d+$/.test(name) ? readEntry(root, Number(name)) : undefined;
    if (entry) entries.push(entry);
  }
  return entries;
}

/** Undefined for processes that are gone, and for those that only wait to be collected. */
function readEntry(root: string, pid: number): Entry | undefined {
  const stat = readOrUndefined(`${root}/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in brackets and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent] = fields;
  const started = fields[19]; // field 22
  if (state === "Z" || state === "X" || started === undefined) return undefined;
  // Fields 14 to 17: in user and system mode, and the same of ended children.
  const cpuTicks = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  return { pid, parent: Number(parent), started, cpuTicks, pages: Number(fields[21]) };
}

/** What the kernel passes to every program at its start. */
function pageBytes(root: string): number {
  try {
    const { buffer } = Deno.readFileSync(`${root}/self/auxv`);
    const pairs = new BigUint64Array(buffer, 0, Math.floor(buffer.byteLength / 8));
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      if (pairs[at] === AT_PAGESZ) return Number(pairs[at + 1]);
    }
  } catch {
    // It need not be readable.
  }
  return USUAL_PAGE_BYTES;
}

function readOrUndefined(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined; // it has ended meanwhile, or belongs to another user
  }
}
