/** Under which names a machine is announced in its own network. Pure. */

/** The names of one machine. */
export interface AnnouncedNames {
  /** Each is announced; the first is the one that is shown to people. */
  readonly names: readonly string[];
  /**
   * Whether another name does as well. One made from the host name does: who looks for it picks it
   * from a list. The name that a cloud or an operator gave does not: who looks for it must never
   * get another machine.
   */
  readonly isRenamable: boolean;
}

export interface NameSources {
  /** Given by the cloud or the configuration; what is empty is left out. */
  readonly given: readonly (string | undefined)[];
  /** Of this host. */
  readonly hostname: string;
  /** That the server listens on. */
  readonly port: number;
}

/** Longest label of a name. Octets; RFC 1035, 2.3.4. */
const LONGEST_LABEL = 63;
/** Longest name, so that with the service behind it there are not more than 255 octets. */
const LONGEST_NAME = 230;

/**
 * The given names, each also with `-` for `.`, as dialers look for both, and systems resolve
 * `<name>.local` only when the name is one label. Without a given one: `<hostname>-<port>`, which
 * two servers on one host do not share.
 */
export function announcedNames({ given, hostname, port }: NameSources): AnnouncedNames {
  const clean = given.map((name) => withoutEnds(name ?? "").toLowerCase());
  const names = [...new Set(clean.flatMap((name) => [name, dashed(name)]))].filter(isUsable);
  if (names.length > 0) return { names, isRenamable: false };
  const [first = ""] = hostname.toLowerCase().split(".");
  const label = withoutEnds(first.replace(/[^a-z0-9-]+/g, "-").slice(0, 50)) || "machine";
  return { names: [`${label}-${port}`], isRenamable: true };
}

/** The name of the n-th machine that wants the same one: `robot-8080-2`. */
export function renamed(name: string, number: number): string {
  return number < 2 ? name : `${name}-${number}`;
}

/** The name whose addresses are announced: `<name>.local`. */
export function hostOf(name: string): string {
  return name.endsWith(".local") ? name : `${name}.local`;
}

function dashed(name: string): string {
  return name.replaceAll(".", "-");
}

function withoutEnds(name: string): string {
  return name.trim().replace(/^[.-]+|[.-]+$/g, "");
}

function isUsable(name: string): boolean {
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  const labels = name.split(".");
  return bytes(name) <= LONGEST_NAME &&
    labels.every((label) => label !== "" && bytes(label) <= LONGEST_LABEL);
}
