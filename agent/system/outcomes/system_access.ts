/** What the agent knows of the host it runs on. */
export interface SystemFacts {
  /** As Deno names it: `linux`, `windows`. */
  readonly os: string;
  /** systemd is process 1. */
  readonly hasSystemd: boolean;
  /** Started with `--dev-mode`. */
  readonly isDevelopment: boolean;
}

/** Why the agent cannot configure this system; undefined when it can. One sentence without its end. */
export function noSystemBecause(facts: SystemFacts): string | undefined {
  const { os, hasSystemd, isDevelopment } = facts;
  if (os !== "linux") return `system_configuration has no effect on ${os}: it needs systemd`;
  if (!hasSystemd) return "system_configuration has no effect on this host: it needs systemd";
  if (!isDevelopment) return undefined;
  return "system_configuration has no effect with --dev-mode: the agent leaves the system as it is";
}

/** Whether systemd runs this host, by what sd_booted(3) looks at. */
export function hasSystemd(): boolean {
  try {
    return Deno.lstatSync("/run/systemd/system").isDirectory;
  } catch {
    return false; // It is not there, or the agent is not let to look: either way it cannot be used.
  }
}
