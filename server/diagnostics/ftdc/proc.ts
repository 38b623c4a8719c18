/** Readers of the texts under /proc that capture needs. Pure. */

/** The kernel counts processor time of programs in hundredths of a second on every platform. */
const TICKS_A_SECOND = 100;

/** Time of all processors since boot, busy and in all, in one unit. */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

/** The first line of /proc/stat; waiting for the disk is not busy. */
export function parseCpuTimes(text: string): CpuTimes {
  // user nice system idle iowait irq softirq steal
  const times = text.slice(0, text.indexOf("\n")).trim().split(/\s+/).slice(1, 9).map(Number);
  const total = times.reduce((sum, time) => sum + time, 0);
  return { busy: total - (times[3] ?? 0) - (times[4] ?? 0), total };
}

/** Processor time from /proc/PID/stat. The name in brackets may hold anything. */
export function parseProcessStat(text: string): { userSeconds: number; systemSeconds: number } {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    userSeconds: Number(fields[11]) / TICKS_A_SECOND,
    systemSeconds: Number(fields[12]) / TICKS_A_SECOND,
  };
}

/** Memory and threads from /proc/PID/status. */
export function parseProcessStatus(
  text: string,
): { vssBytes: number; rssBytes: number; threads: number } {
  const number = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  return {
    vssBytes: (number("VmSize") || 0) * 1024,
    rssBytes: (number("VmRSS") || 0) * 1024,
    threads: number("Threads") || 0,
  };
}

/** One line of /proc/net/dev. Counters since boot. */
export interface InterfaceCounters {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** The interfaces of /proc/net/dev, but for those between containers (`veth…`). */
export function* readInterfaces(text: string): Iterable<InterfaceCounters> {
  for (const line of text.split("\n").slice(2)) {
    const colon = line.lastIndexOf(":");
    if (colon < 0) continue;
    const name = line.slice(0, colon).trim();
    if (name.startsWith("veth")) continue;
    const counters = line.slice(colon + 1).trim().split(/\s+/).map(Number);
    yield {
      name,
      rxBytes: counters[0] ?? 0,
      rxErrors: counters[2] ?? 0,
      rxDropped: counters[3] ?? 0,
      txBytes: counters[8] ?? 0,
      txErrors: counters[10] ?? 0,
      txDropped: counters[11] ?? 0,
    };
  }
}

/** Sockets in use by protocol from /proc/net/sockstat: `["TCP.inuse", 12]`. */
export function* parseSockets(text: string): Iterable<[name: string, value: number]> {
  for (const line of text.split("\n")) {
    const [protocol = "", ...words] = line.split(/[:\s]+/).filter(Boolean);
    if (protocol !== "TCP" && protocol !== "UDP") continue;
    for (let i = 0; i + 1 < words.length; i += 2) {
      yield [`${protocol}.${words[i]}`, Number(words[i + 1])];
    }
  }
}
