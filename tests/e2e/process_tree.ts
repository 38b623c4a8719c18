import { LinuxProcessTable } from "../../shared/base/process/process_table_linux.ts";

/**
 * Lists the processes that `pid` started, and those they started. Reads /proc; empty where there
 * is none.
 */
export async function descendants(pid: number): Promise<number[]> {
  const parents = await readParents();
  const found: number[] = [];
  for (let generation = [pid]; generation.length > 0;) {
    generation = [...parents].filter(([, parent]) => generation.includes(parent)).map(([p]) => p);
    found.push(...generation);
  }
  return found;
}

/** Parent of every process, by process id. */
async function readParents(): Promise<Map<number, number>> {
  const parents = new Map<number, number>();
  try {
    for await (const entry of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(entry.name)) continue;
      const parent = await readParent(entry.name);
      if (parent !== undefined) parents.set(Number(entry.name), parent);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return parents;
}

async function readParent(pid: string): Promise<number | undefined> {
  try {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
    // The second field, the command in parentheses, may itself hold spaces and parentheses.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parent);
  } catch {
    return undefined; // It has ended meanwhile.
  }
}

/**
 * Asks later whether processes that run now are gone. One that only waits to be collected is, and
 * another process may have a number again: there are 32768 of them on many hosts.
 */
export function watchEnds(pids: readonly number[]): { running(): number[] } {
  const table = new LinuxProcessTable();
  const starts = new Map(pids.map((pid) => [pid, table.startOf(pid)]));
  const isRunning = (pid: number) => {
    const started = starts.get(pid);
    return started !== undefined && table.startOf(pid) === started;
  };
  return { running: () => pids.filter(isRunning) };
}
