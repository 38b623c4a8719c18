/** The limits of journald's logs, in megabytes; -1: none of ours. */
export interface JournaldLimits {
  /** Of what is kept on disk. */
  readonly system: number;
  /** Of what is kept in memory. */
  readonly runtime: number;
}

/** Where the limits stand, from the root of the file system. */
export const DROP_IN = "etc/systemd/journald.conf.d/90-machine.conf";

const HEADER = "# Written by machine-agent; system_configuration in the machine's configuration " +
  "decides";
/** journald takes 0 for "no limit"; here it says nothing, as in configurations of other programs. */
const DEFAULT_MB = 512;

/** The text of the drop-in; undefined when there is no limit to set. */
export function dropInText({ system, runtime }: JournaldLimits): string | undefined {
  const lines = [...line("SystemMaxUse", system), ...line("RuntimeMaxUse", runtime)];
  return lines.length === 0 ? undefined : [HEADER, "[Journal]", ...lines, ""].join("\n");
}

/** Whether we wrote this. */
export function isOurs(text: string): boolean {
  return text.startsWith("# Written by machine-agent");
}

/** The limits for people. */
export function limitsText({ system, runtime }: JournaldLimits): string {
  const text = (limit: number) => limit === -1 ? "not limited" : `at most ${megabytes(limit)} MB`;
  return `logs on disk ${text(system)}, in memory ${text(runtime)}`;
}

function line(name: string, limit: number): string[] {
  return limit === -1 ? [] : [`${name}=${megabytes(limit)}M`];
}

function megabytes(limit: number): number {
  return limit === 0 ? DEFAULT_MB : limit;
}
