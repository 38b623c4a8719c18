import { Code } from "@connectrpc/connect";

/** What one run of a script may use at most, with everything that it starts. */
export interface RunLimits {
  /** Bytes of main memory. */
  readonly memoryBytes: number;
  /** Milliseconds of all processors together. */
  readonly cpuMs: number;
  /** Milliseconds from the start of the script to its end. */
  readonly wallMs: number;
  /** Bytes that it adds to its folders: output, dataset, home and temporary files. */
  readonly diskBytes: number;
  /** Processes at one moment. */
  readonly processes: number;
  /** Milliseconds that making the Python environment may take. */
  readonly installMs: number;
  /** Bytes of disk that it may take; one with TensorFlow has 2 GB. */
  readonly installBytes: number;
}

const HOUR_MS = 3_600_000;
const GIB = 2 ** 30;

/** What holds unless the operator says otherwise. */
export const RUN_LIMITS: RunLimits = {
  memoryBytes: 8 * GIB,
  cpuMs: 48 * HOUR_MS,
  wallMs: 12 * HOUR_MS,
  diskBytes: 20 * GIB,
  processes: 512,
  installMs: HOUR_MS,
  installBytes: 20 * GIB,
};

/** Files and folders that a run may make; each costs the disk, however small it is. */
export const MOST_FILES = 500_000;
/** So much of a disk stays free for the cloud itself. Bytes. */
export const DISK_FLOOR_BYTES = 200_000_000;

/** What a run and everything that it started uses at one moment. */
export interface TreeUsage {
  readonly memoryBytes: number;
  /** Since the start. */
  readonly cpuMs: number;
  readonly processes: number;
}

/** What a run has added to its folders. */
export interface DiskUsage {
  readonly bytes: number;
  readonly files: number;
  /** What is left on the disk. */
  readonly freeBytes: number;
}

/** A limit that a run went over. */
export interface Breach {
  readonly code: Code;
  /** For people: the limit, and what was used. */
  readonly reason: string;
}

/** The limit that processes are over; undefined when there is none. */
export function treeBreach(usage: TreeUsage, limits: RunLimits): Breach | undefined {
  if (usage.memoryBytes > limits.memoryBytes) {
    return over("memory", bytesText(usage.memoryBytes), bytesText(limits.memoryBytes));
  }
  if (usage.cpuMs > limits.cpuMs) {
    return over("processor time", timeText(usage.cpuMs), timeText(limits.cpuMs));
  }
  if (usage.processes > limits.processes) {
    return over("processes", `${usage.processes} processes`, `${limits.processes}`);
  }
}

/** The limit that files are over; undefined when there is none. */
export function diskBreach(usage: DiskUsage, limits: RunLimits): Breach | undefined {
  if (usage.bytes > limits.diskBytes) {
    return over("disk", bytesText(usage.bytes), bytesText(limits.diskBytes));
  }
  if (usage.files > MOST_FILES) {
    return over("files", `more than ${MOST_FILES} files`, `${MOST_FILES}`);
  }
  if (usage.freeBytes < DISK_FLOOR_BYTES) {
    return {
      code: Code.ResourceExhausted,
      reason: `the disk of the host that trains is full: ${bytesText(usage.freeBytes)} are ` +
        `left, and the run had written ${bytesText(usage.bytes)}; free some space there`,
    };
  }
}

/** The script, or making its environment, took too long. */
export function timeBreach(what: string, limitMs: number): Breach {
  return {
    code: Code.DeadlineExceeded,
    reason: `${what} took longer than ${
      timeText(limitMs)
    }, the limit of this cloud, and was terminated`,
  };
}

function over(what: string, used: string, limit: string): Breach {
  return {
    code: Code.ResourceExhausted,
    reason: `the script used more ${what} than this cloud allows: ${used}, and the limit is ` +
      `${limit}; it was terminated`,
  };
}

/** `1.5 GiB`, `300 MiB`. */
export function bytesText(bytes: number): string {
  const mebibytes = bytes / 2 ** 20;
  return mebibytes >= 1_024 ? `${short(mebibytes / 1_024)} GiB` : `${short(mebibytes)} MiB`;
}

function timeText(ms: number): string {
  if (ms >= HOUR_MS) return `${short(ms / HOUR_MS)} h`;
  return ms >= 60_000 ? `${short(ms / 60_000)} min` : `${short(ms / 1_000)} s`;
}

function short(amount: number): string {
  return String(Number(amount.toFixed(amount < 10 ? 1 : 0)));
}
