/** Readers of the texts under /proc and of os-release. Pure. */
import type { Counters } from "./host_source.ts";

/**
 * Sums the `cpu` line of /proc/stat. Time spent waiting for disks counts as idle; guest time is part
 * of user time already.
 */
export function parseProcStat(text: string): Counters["cpu"] {
  const fields = firstLine(text, "cpu ").split(/\s+/).slice(1, 9).map(Number);
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] =
    fields;
  const busy = user + nice + system + irq + softirq + steal;
  return { busy, total: busy + idle + iowait };
}

/** Total and used memory from /proc/meminfo; used is what could not be given to a new program. */
export function parseMeminfo(text: string): { totalBytes: number; usedBytes: number } {
  const bytes = (key: string) => {
    const line = text.match(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m"));
    return line ? Number(line[1]) * 1024 : undefined;
  };
  const totalBytes = bytes("MemTotal");
  if (totalBytes === undefined) throw new Error("/proc/meminfo has no MemTotal line");
  // Kernels before 3.14 have no MemAvailable.
  const availableBytes = bytes("MemAvailable") ??
    (bytes("MemFree") ?? 0) + (bytes("Buffers") ?? 0) + (bytes("Cached") ?? 0);
  return { totalBytes, usedBytes: Math.max(0, totalBytes - availableBytes) };
}

/** The three means of /proc/loadavg. */
export function parseLoadavg(text: string): [number, number, number] {
  const [one, five, fifteen] = text.split(" ").map(Number);
  return [one ?? 0, five ?? 0, fifteen ?? 0];
}

/** Seconds since boot from /proc/uptime. */
export function parseUptime(text: string): number {
  return Number(text.split(" ")[0]);
}

/**
 * Bytes received and sent from /proc/net/dev.
 *
 * @param interfaces the names to count; undefined: all but `lo`.
 */
export function parseNetDev(
  text: string,
  interfaces: readonly string[] | undefined,
): Counters["network"] {
  let rxBytes = 0;
  let txBytes = 0;
  for (const [name, counters] of netDevRows(text)) {
    if (interfaces ? !interfaces.includes(name) : name === "lo") continue;
    rxBytes += counters[0] ?? 0;
    txBytes += counters[8] ?? 0;
  }
  return { rxBytes, txBytes };
}

function* netDevRows(text: string): Iterable<[string, number[]]> {
  for (const line of text.split("\n").slice(2)) {
    const colon = line.lastIndexOf(":");
    if (colon < 0) continue;
    yield [line.slice(0, colon).trim(), line.slice(colon + 1).trim().split(/\s+/).map(Number)];
  }
}

/** PRETTY_NAME of an os-release file. */
export function parseOsRelease(text: string): string | undefined {
  const value = text.match(/^PRETTY_NAME=(.*)$/m)?.[1]?.trim();
  return value?.replace(/^(["'])(.*)\1$/, "$2") || undefined;
}

function firstLine(text: string, start: string): string {
  const line = text.split("\n").find((candidate) => candidate.startsWith(start));
  if (line === undefined) throw new Error(`/proc/stat has no line that starts with "${start}"`);
  return line;
}
