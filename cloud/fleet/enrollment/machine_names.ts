import { machineNameProblem } from "../../api/names/names.ts";

/** What a device reports of itself, as far as names are made of it. */
export interface NamedFacts {
  readonly hostName: string;
  readonly serial: string;
  readonly mac: string;
}

const PLACEHOLDER = /\{([a-z]*)\}/g;
const KNOWN: readonly string[] = ["host", "serial", "mac", "n"];
const LONGEST_NAME = 60;
export const DEFAULT_PATTERN = "{host}";

/** Why a pattern cannot make names; undefined when it can. */
export function patternProblem(pattern: string): string | undefined {
  for (const [text, name = ""] of pattern.matchAll(PLACEHOLDER)) {
    if (!KNOWN.includes(name)) {
      return `${text} is not known; there are ${KNOWN.map((each) => `{${each}}`).join(", ")}`;
    }
  }
  return machineNameProblem(pattern.replaceAll(PLACEHOLDER, "x"));
}

/** Whether names of a pattern differ by a number of their own. */
export function countsUp(pattern: string): boolean {
  return pattern.includes("{n}");
}

/** The name of a device by a pattern; what names may not have becomes `-`. */
export function nameByPattern(pattern: string, facts: NamedFacts, n: number): string {
  const values: Readonly<Record<string, string>> = {
    host: facts.hostName.split(".")[0] ?? "",
    serial: facts.serial,
    mac: facts.mac.replaceAll(":", ""),
    n: String(n),
  };
  const filled = pattern.replaceAll(PLACEHOLDER, (_, name: string) => values[name] ?? "");
  const plain = filled.replaceAll(/[^A-Za-z0-9_-]+/g, "-").replace(/^[_-]+/, "")
    .slice(0, LONGEST_NAME).replace(/-+$/, "");
  return plain === "" ? "machine" : plain;
}

/** The name itself or, when it is taken, the name with the first number from 2 on that is free. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let n = 2;; n += 1) {
    const numbered = `${name.slice(0, LONGEST_NAME - String(n).length - 1)}-${n}`;
    if (!taken.has(numbered)) return numbered;
  }
}
