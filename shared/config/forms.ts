/** Forms of texts in a configuration. Every check answers yes or no; the callers make problems. */
import { parseGoDuration } from "../base/time/duration.ts";

/** Names of resources, modules, packages, remotes, jobs. */
export const NAME_PATTERN = "^[a-zA-Z0-9][-\\w]*$";
export const NAME_ALLOWED = "a letter or digit, then letters, digits, - and _";
/** Longest name of a resource or remote. */
export const LONGEST_RESOURCE_NAME = 60;
/** Longest name of a module or package. */
export const LONGEST_MODULE_NAME = 200;
export const DURATION_ALLOWED = "a number with a unit, such as 300ms, 10s, 1h20m";

const NAME = new RegExp(NAME_PATTERN);
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const SEMVER = /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
const VERSION_RANGE =
  /^(?:(?:[\^~]|[<>]=?)\d+(?:\.\d+){0,2}|\d+\.(?:\d+\.)?x)(?: (?:[\^~]|[<>]=?)\d+(?:\.\d+){0,2})*$/;
const LONGEST_RANGE = 100;

/** True for a name of letters, digits, `-` and `_` that starts with a letter or digit. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** Milliseconds of a Go duration text; undefined when it is none. */
export function durationMs(text: string): number | undefined {
  try {
    return parseGoDuration(text);
  } catch {
    return undefined;
  }
}

/** True for four numbers of 0–255 with dots between. */
export function isIpv4(text: string): boolean {
  return IPV4.test(text);
}

/** True for an IPv4 address with its network length: `192.168.0.10/24`. */
export function isIpv4Cidr(text: string): boolean {
  const [address = "", length = "", ...rest] = text.split("/");
  return rest.length === 0 && isIpv4(address) && /^\d{1,2}$/.test(length) && Number(length) <= 32;
}

/** True for `host:port`, `:port` and `[::1]:port`; the port may be a service name. */
export function isHostPort(text: string): boolean {
  const match = /^(?:\[[^\][]*\]|[^:[\]]*):([^:[\]]*)$/.exec(text);
  const port = match?.[1];
  if (port === undefined) return false;
  return /^\d+$/.test(port) ? Number(port) <= 65535 : /^[a-zA-Z-]*$/.test(port);
}

/** True for a name of a host, without scheme, port or placeholder. */
export function isHostName(text: string): boolean {
  return text.length <= 253 && /^[\w-]{1,63}(\.[\w-]{1,63})*\.?$/.test(text);
}

/** True for an origin as browsers write it: `http` or `https`, host, and a port that is not its own. */
export function isWebOrigin(text: string): boolean {
  const url = parseHttpUrl(text);
  return url !== undefined && url.origin === text.toLowerCase();
}

/** The `http` or `https` URL a text is; undefined when it is none or has no host. */
export function parseHttpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return /^https?:\/\/[^/]/i.test(text) && url.hostname !== "" ? url : undefined;
}

/**
 * True for what `agent.version_control` may choose a version by: its number, a range of npm with a
 * sign in it (`^1.2`, `1.x`, `>=1.2 <2`), a channel, or an address.
 */
export function isVersionSetting(text: string): boolean {
  if (text === "stable" || text === "dev" || SEMVER.test(text)) return true;
  if (text.length <= LONGEST_RANGE && VERSION_RANGE.test(text)) return true;
  return /^file:\/\/\/./.test(text) || parseHttpUrl(text) !== undefined;
}

/** True for one address with something on both sides of its only @. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$/.test(text);
}

/** Length in bytes of UTF-8, which is what network names are limited by. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
