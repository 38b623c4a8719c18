import { cpus, freemem, loadavg, totalmem, type } from "node:os";
import { diskUsage } from "./host_source_linux.ts";
import type { Counters, HostSource, HostSourceOptions } from "./host_source.ts";
import { countTasklist, parseNetstat } from "./windows_text.ts";

/** Runs a tool of the system and gives what it printed. */
export type RunTool = (command: string, args: readonly string[]) => Promise<string>;

/**
 * Numbers of a host without /proc. Processor, memory, disk and uptime come from the runtime; network
 * bytes and the number of processes from Windows' own tools, and are 0 elsewhere.
 */
export function portableHostSource(
  options: HostSourceOptions,
  system: string = Deno.build.os,
  run: RunTool = runTool,
): HostSource {
  const windows = system === "windows";
  return {
    facts: () => ({
      hostname: Deno.hostname(),
      os: `${type() === "Windows_NT" ? "Windows" : type()} ${Deno.osRelease()}`,
      cpuCount: cpus().length,
    }),
    async counters() {
      const network = windows ? parseNetstat(await run("netstat", ["-e"])) : none;
      return { cpu: sumCpuTimes(cpus()), network };
    },
    async gauges() {
      const totalBytes = totalmem();
      const [one = 0, five = 0, fifteen = 0] = loadavg();
      return {
        load: [one, five, fifteen],
        memory: { totalBytes, usedBytes: totalBytes - freemem() },
        disk: await diskUsage(options.diskPath),
        uptimeSeconds: Deno.osUptime(),
        processCount: windows ? countTasklist(await run("tasklist", ["/fo", "csv", "/nh"])) : 0,
      };
    },
  };
}

const none: Counters["network"] = { rxBytes: 0, txBytes: 0 };

/** Busy and total time over all processors, in milliseconds. */
export function sumCpuTimes(
  processors: readonly {
    times: { user: number; nice: number; sys: number; idle: number; irq: number };
  }[],
): Counters["cpu"] {
  let busy = 0;
  let idle = 0;
  for (const { times } of processors) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, total: busy + idle };
}

async function runTool(command: string, args: readonly string[]): Promise<string> {
  const { code, stdout } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stderr: "null",
    signal: AbortSignal.timeout(5_000),
  }).output();
  if (code !== 0) throw new Error(`${command} exited with code ${code}`);
  return new TextDecoder().decode(stdout);
}
