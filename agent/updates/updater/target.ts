import type { InstalledVersion } from "../../state/agent_state.ts";

/** A version that the cloud wants a program to have. */
export interface Target {
  /** `0.3.1`, or `customURL` when it is chosen by its address. */
  readonly version: string;
  /** `https://…`, `http://…` or `file:///…`. */
  readonly url: string;
  /** Hexadecimal; empty when the cloud does not know it. */
  readonly sha256: string;
  readonly size?: number;
  /** Hexadecimal Ed25519 signature of the release; empty or absent when it is not signed. */
  readonly signature?: string;
  readonly keyId?: string;
  readonly platform?: string;
  /** Why the cloud has no such version, in words. Then the rest means nothing. */
  readonly problem?: string;
  /** Of a file on this host: changes when its content does. */
  readonly stamp?: string;
}

/** The name by which a version is reported to people and to the cloud. */
export function versionName({ version, url }: Pick<InstalledVersion, "version" | "url">): string {
  if (version === "") return "unknown";
  return version === "customURL" ? `${version}+${url}` : version;
}

/** Whether installing the target would change nothing. */
export function isVersionOf(installed: InstalledVersion, target: Target): boolean {
  if (installed.version !== target.version) return false;
  const known = installed.sha256 ?? "";
  // A version found in the links knows the first digits only, as they stand in the file's name.
  if (known !== "" && target.sha256 !== "") {
    return target.sha256.startsWith(known) || known.startsWith(target.sha256);
  }
  if (installed.stamp !== undefined && installed.stamp !== target.stamp) return false;
  return installed.url === target.url || (installed.url === "" && target.version !== "customURL");
}

/** The target that an installed version fulfils. */
export function targetOf({ version, url, sha256 = "", stamp }: InstalledVersion): Target {
  return { version, url, sha256, ...(stamp === undefined ? {} : { stamp }) };
}

/** What distinguishes a version from every other: its content where that is known. */
export function targetKey({ version, url, sha256 = "" }: Partial<Target> & Named): string {
  return `${version}@${sha256 === "" ? url : sha256}`;
}

type Named = Pick<Target, "version" | "url">;

/** Whether two say the same; the address of a known content may change. */
export function isSameTarget(a: Target | undefined, b: Target | undefined): boolean {
  if (!a || !b) return a === b;
  // One that got its signature later may be installed where the one before may not.
  return targetKey(a) === targetKey(b) && a.stamp === b.stamp && a.problem === b.problem &&
    (a.signature ?? "") === (b.signature ?? "");
}

/** The version in the name of a file in the cache, `PROGRAM-VERSION-SHA`; else empty. */
export function versionOfFile(path: string): string {
  return CACHED_FILE.exec(path)?.groups?.["version"] ?? "";
}

/** The first digits of the SHA-256 in such a name; else undefined. */
export function shaOfFile(path: string): string | undefined {
  return CACHED_FILE.exec(path)?.groups?.["sha"];
}

const CACHED_FILE = /machine-(?:server|agent)-(?<version>[^/\\]+)-(?<sha>[0-9a-f]{12})(?:\.exe)?$/;
