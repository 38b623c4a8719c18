import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";

/** Time that no one can set, and that continues while the agent does not run. */
export interface BootClock {
  /** Another one after each start of the host. */
  readonly boot: string;
  /** Milliseconds since that start, or close to it. */
  uptimeMs(): number;
}

/** The host's own, from /proc. Without that each run of the agent counts as a start. */
export function systemBootClock(): BootClock {
  const boot = readWord("/proc/sys/kernel/random/boot_id") ?? crypto.randomUUID();
  return {
    boot,
    uptimeMs: () => {
      const seconds = Number(readWord("/proc/uptime"));
      return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : performance.now();
    },
  };
}

function readWord(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trim().split(/\s/)[0];
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
