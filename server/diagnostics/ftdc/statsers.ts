/** What full-time data capture looks at. */
import process from "node:process";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { MethodCount } from "../request_counters.ts";
import type { Statser } from "./capture.ts";
import { parseProcessStat, parseProcessStatus, parseSockets, readInterfaces } from "./proc.ts";

/** Reads a small file of the kernel. Synchronous: such a file costs microseconds. */
export type ReadText = (path: string) => string;

/** A process that the server started for a module. */
export interface ModuleProcess {
  readonly name: string;
  readonly pid: number;
}

const MB = 1e6;
/** Hosts of many containers have many interfaces. */
const MAX_INTERFACES = 16;

/** Processor time, memory and how late the event loop is, of this process. */
export function ownProcessStatser(clock: Clock): Statser {
  const startedMs = clock.monotonicMs();
  let lastMs = startedMs;
  return {
    group: "proc.machine-server",
    collect(add) {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed, heapTotal, external } = Deno.memoryUsage();
      const nowMs = clock.monotonicMs();
      add("UserCPUSecs", user / 1e6);
      add("SystemCPUSecs", system / 1e6);
      add("ElapsedTimeSecs", (nowMs - startedMs) / 1e3);
      add("RssMB", rss / MB);
      add("HeapUsedMB", heapUsed / MB);
      add("HeapTotalMB", heapTotal / MB);
      add("ExternalMB", external / MB);
      add("SinceLastSampleMs", nowMs - lastMs);
      lastMs = nowMs;
    },
  };
}

/** What only the kernel of Linux tells: address space, threads, open files. */
export function ownKernelStatser(read: ReadText = Deno.readTextFileSync): Statser {
  return {
    group: "proc.machine-server",
    collect(add) {
      const { vssBytes, threads } = parseProcessStatus(read("/proc/self/status"));
      add("VssMB", vssBytes / MB);
      add("Threads", threads);
      let files = 0;
      for (const _ of Deno.readDirSync("/proc/self/fd")) files++;
      add("OpenFiles", files);
    },
  };
}

/** The processes of modules, on Linux. One that has just ended is left out. */
export function moduleStatser(
  modules: () => readonly ModuleProcess[],
  read: ReadText = Deno.readTextFileSync,
): Statser {
  return {
    group: "proc.modules",
    collect(add) {
      for (const { name, pid } of modules()) {
        let facts;
        try {
          facts = {
            ...parseProcessStat(read(`/proc/${pid}/stat`)),
            ...parseProcessStatus(read(`/proc/${pid}/status`)),
          };
        } catch {
          continue; // It ended; the module manager tells of that.
        }
        add(`${name}.UserCPUSecs`, facts.userSeconds);
        add(`${name}.SystemCPUSecs`, facts.systemSeconds);
        add(`${name}.VssMB`, facts.vssBytes / MB);
        add(`${name}.RssMB`, facts.rssBytes / MB);
      }
    },
  };
}

/** Interfaces and sockets of this host, on Linux. */
export function networkStatser(read: ReadText = Deno.readTextFileSync): Statser {
  return {
    group: "net",
    collect(add) {
      let seen = 0;
      for (const row of readInterfaces(read("/proc/net/dev"))) {
        if (++seen > MAX_INTERFACES) break;
        add(`${row.name}.RxBytes`, row.rxBytes);
        add(`${row.name}.RxErrors`, row.rxErrors + row.rxDropped);
        add(`${row.name}.TxBytes`, row.txBytes);
        add(`${row.name}.TxErrors`, row.txErrors + row.txDropped);
      }
      for (const [name, value] of parseSockets(read("/proc/net/sockstat"))) add(name, value);
    },
  };
}

/** Calls by method. */
export function webStatser(methods: () => Iterable<Readonly<MethodCount>>): Statser {
  return {
    group: "web",
    collect(add) {
      for (const { path, ended, failed, running, totalMs } of methods()) {
        const name = path.slice(1);
        add(`${name}.Count`, ended);
        add(`${name}.Errors`, failed);
        add(`${name}.Running`, running);
        add(`${name}.TotalMs`, totalMs);
      }
    },
  };
}

/** Resources by state: `{ ready: 3, unhealthy: 1 }`. */
export function resourceStatser(states: () => Readonly<Record<string, number>>): Statser {
  return {
    group: "resources",
    collect(add) {
      for (const [state, count] of Object.entries(states())) add(state, count);
    },
  };
}

/** What the statsers of a server look at. */
export interface StatserSources {
  clock: Clock;
  modules: () => readonly ModuleProcess[];
  methods: () => Iterable<Readonly<MethodCount>>;
  resourceStates: () => Readonly<Record<string, number>>;
}

/** All statsers that a system has the figures for. */
export function statsersFor(os: string, sources: StatserSources): Statser[] {
  const everywhere = [
    ownProcessStatser(sources.clock),
    webStatser(sources.methods),
    resourceStatser(sources.resourceStates),
  ];
  if (os !== "linux") return everywhere;
  return [...everywhere, ownKernelStatser(), moduleStatser(sources.modules), networkStatser()];
}
