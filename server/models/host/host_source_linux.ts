import { statfs } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { HostFacts, HostSource, HostSourceOptions } from "./host_source.ts";
import {
  parseLoadavg,
  parseMeminfo,
  parseNetDev,
  parseOsRelease,
  parseProcStat,
  parseUptime,
} from "./proc_text.ts";

/** Reads a small file of the kernel. Synchronous: such a file costs microseconds. */
export type ReadText = (path: string) => string;

/** Numbers of a Linux host from /proc and statfs. */
export function linuxHostSource(
  options: HostSourceOptions,
  read: ReadText = Deno.readTextFileSync,
): HostSource {
  return {
    facts: () => readFacts(read),
    counters: () => ({
      cpu: parseProcStat(read("/proc/stat")),
      network: parseNetDev(read("/proc/net/dev"), options.interfaces),
    }),
    async gauges() {
      return {
        load: parseLoadavg(read("/proc/loadavg")),
        memory: parseMeminfo(read("/proc/meminfo")),
        disk: await diskUsage(options.diskPath),
        uptimeSeconds: parseUptime(read("/proc/uptime")),
        processCount: countProcesses(),
      };
    },
  };
}

/** Space of the file system that holds `path`, which is the attribute `disk_path`. */
export async function diskUsage(path: string) {
  const { bsize, blocks, bfree, bavail } = await statfs(path).catch((error) => {
    throw toFileError(error, "look at the disk of attributes.disk_path", path);
  });
  return {
    totalBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    availableBytes: bavail * bsize,
  };
}

function readFacts(read: ReadText): HostFacts {
  let os: string | undefined;
  try {
    os = parseOsRelease(read("/etc/os-release"));
  } catch {
    // Minimal systems have no such file.
  }
  return {
    hostname: Deno.hostname(),
    os: os ?? `Linux ${Deno.osRelease()}`,
    cpuCount: availableParallelism(),
  };
}

function countProcesses(): number {
  let count = 0;
  for (const { name } of Deno.readDirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first >= 48 && first <= 57) count++;
  }
  return count;
}
