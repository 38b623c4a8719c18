/** How a part of the operating system's configuration stands. */
export interface SystemOutcome {
  /**
   * - `applied`: the system is as the settings specify.
   * - `untouched`: the settings request nothing, and nothing was changed.
   * - `working`: it is being applied.
   * - `failed`: it could not be applied, and is tried again.
   * - `no-effect`: it cannot be applied on this host.
   */
  readonly state: "applied" | "untouched" | "working" | "failed" | "no-effect";
  /** One sentence without its end. */
  readonly text: string;
}

/** The parts, named as `status.json` and `machine-agent status` do. */
export const SYSTEM_PARTS = ["journald", "upgrades", "log_forwarding"] as const;
export type SystemPart = typeof SYSTEM_PARTS[number];

/** How all parts stand. */
export type SystemReport = Readonly<Record<SystemPart, SystemOutcome>>;

/** The first line of what a program said, for a sentence. */
export function firstLine(text: string): string {
  return text.trim().split("\n")[0]?.trim() ?? "";
}
