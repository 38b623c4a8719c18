/** What full-time data capture looks at. */
import { statfsSync } from "node:fs";
import { cpus } from "node:os";
import process from "node:process";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { MethodCount } from "../request_counters.ts";
import type { Statser } from "./capture.ts";
import {
  type CpuTimes,
  parseCpuTimes,
  parseProcessStat,
  parseProcessStatus,
  parseSockets,
  readInterfaces,
} from "./proc.ts";

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

/** What the host's figures are read from. */
export interface HostReader {
  /** Time since boot, in any unit, over all processors. */
  cpu(): CpuTimes;
  memory(): { readonly totalBytes: number; readonly usedBytes: number };
  disk(): { readonly totalBytes: number; readonly usedBytes: number };
  /** Bytes since boot over all interfaces but loopback; undefined where the system has no such figure. */
  network(): { readonly rxBytes: number; readonly txBytes: number } | undefined;
}

/** How busy and full the host is; what is a rate is taken since the sample before. */
export function hostStatser(clock: Clock, host: HostReader): Statser {
  let last: { atMs: number; cpu: CpuTimes; network: ReturnType<HostReader["network"]> } | undefined;
  return {
    group: "host",
    collect(add) {
      const now = { atMs: clock.monotonicMs(), cpu: host.cpu(), network: host.network() };
      const before = last;
      last = now;
      const memory = host.memory();
      add("MemoryUsedMB", memory.usedBytes / MB);
      add("MemoryTotalMB", memory.totalBytes / MB);
      const disk = host.disk();
      add("DiskUsedMB", disk.usedBytes / MB);
      add("DiskTotalMB", disk.totalBytes / MB);
      // The first sample has nothing before it: no figure is better than an idle host.
      if (!before) return;
      const total = now.cpu.total - before.cpu.total;
      const busy = now.cpu.busy - before.cpu.busy;
      if (total > 0) add("CPUPercent", Math.min(100, Math.max(0, busy / total * 100)));
      const seconds = (now.atMs - before.atMs) / 1_000;
      if (!now.network || !before.network || seconds <= 0) return;
      const rate = (bytes: number, bytesBefore: number) =>
        Math.max(0, bytes - bytesBefore) / seconds;
      add("RxBytesPerSecond", rate(now.network.rxBytes, before.network.rxBytes));
      add("TxBytesPerSecond", rate(now.network.txBytes, before.network.txBytes));
    },
  };
}

/** The host on every system; Linux reports more precisely, and of its network. */
export function hostReader(os: string, read: ReadText = Deno.readTextFileSync): HostReader {
  const disk = () => {
    const { bsize, blocks, bfree } = statfsSync(os === "windows" ? systemDrive() : "/");
    return { totalBytes: blocks * bsize, usedBytes: (blocks - bfree) * bsize };
  };
  const memory = () => {
    const { total, available } = Deno.systemMemoryInfo();
    return { totalBytes: total, usedBytes: total - available };
  };
  if (os !== "linux") return { cpu: () => sumOf(cpus()), memory, disk, network: () => undefined };
  return {
    cpu: () => parseCpuTimes(read("/proc/stat")),
    memory,
    disk,
    network() {
      let [rxBytes, txBytes] = [0, 0];
      for (const row of readInterfaces(read("/proc/net/dev"))) {
        if (row.name === "lo") continue;
        rxBytes += row.rxBytes;
        txBytes += row.txBytes;
      }
      return { rxBytes, txBytes };
    },
  };
}

function systemDrive(): string {
  return `${Deno.env.get("SystemDrive") ?? "C:"}\\`;
}

function sumOf(processors: ReturnType<typeof cpus>): CpuTimes {
  let [busy, idle] = [0, 0];
  for (const { times } of processors) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, total: busy + idle };
}

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

/** What only the kernel of Linux reports: address space, threads, open files. */
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
          continue; // It ended; the module manager reports that.
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
    hostStatser(sources.clock, hostReader(os)),
    ownProcessStatser(sources.clock),
    webStatser(sources.methods),
    resourceStatser(sources.resourceStates),
  ];
  if (os !== "linux") return everywhere;
  return [...everywhere, ownKernelStatser(), moduleStatser(sources.modules), networkStatser()];
}
