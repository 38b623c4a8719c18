/** What is to be fetched, and the names that it has on disk. */
import { createHash } from "node:crypto";

export interface WantedFile {
  /** `machine-server` or `machine-agent`. */
  readonly program: string;
  /** `0.3.1`, or `customURL` when it is chosen by its address. */
  readonly version: string;
  /** `https://…`, `http://…` or `file:///…`. */
  readonly url: string;
  /** Hexadecimal. Empty or absent: what the address gives is trusted the first time. */
  readonly sha256?: string | undefined;
  /** Bytes, where known. */
  readonly size?: number | undefined;
}

export interface Obtained {
  /** Absolute; mode 0755, on disk, checked. */
  readonly path: string;
  /** Hexadecimal, of what the address gave. */
  readonly sha256: string;
}

/** How many digits of the hash a name has. */
const SHA_DIGITS = 12;
const LONGEST_VERSION = 80;
const CACHED = /^(?<program>machine-(?:server|agent))-.+-[0-9a-f]{12}(?:\.exe)?$/;

/** The name of a file in the cache: `<program>-<version>-<12 digits of its hash>`. */
export function cacheName(
  { program, version }: Pick<WantedFile, "program" | "version">,
  sha256: string,
  os: string = Deno.build.os,
): string {
  const safe = version.replaceAll(/[^A-Za-z0-9._+-]/g, "_").slice(0, LONGEST_VERSION) || "unnamed";
  const ending = os === "windows" ? ".exe" : "";
  return `${program}-${safe}-${sha256.slice(0, SHA_DIGITS)}${ending}`;
}

/** The program that a file in the cache is a version of; undefined for files of others. */
export function programOf(name: string): string | undefined {
  return CACHED.exec(name)?.groups?.["program"];
}

/** The name of the partial file. One a target: the same content, wherever it comes from. */
export function partName({ program, version, url, sha256 }: WantedFile): string {
  return `${fingerprint([program, version, sha256 || url])}.part`;
}

/** What a refusal is remembered for. Signed addresses differ in their query each time. */
export function targetKey({ program, version, url, sha256 }: WantedFile, state = ""): string {
  return fingerprint([program, version, sha256 ?? "", sha256 ? url.split("?", 1)[0] : url, state]);
}

/** What the content of an address without a known hash is remembered for. */
export function sourceKey({ program, url }: WantedFile): string {
  return fingerprint([program, url]);
}

/** True for what lies on this host. */
export function isLocal({ url }: Pick<WantedFile, "url">): boolean {
  return url.startsWith("file:");
}

/** An address without what may be a secret. */
export function shownAddress(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : "the address";
}

/** Addresses may hold secrets, which must not be in the database. */
function fingerprint(parts: readonly (string | undefined)[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 24);
}
