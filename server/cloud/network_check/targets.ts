/** What the network check asks, and how others are named. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import { nearestName } from "../../../shared/base/flags/nearest.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";

/** Whom the check asks. A group with an empty list is left out. */
export interface NetworkTargets {
  /** Name servers, asked by UDP and by TCP. */
  readonly dnsServers: readonly HostPort[];
  /** What they are requested. */
  readonly dnsName: string;
  /** Names for this host's own resolver. */
  readonly names: readonly string[];
  readonly stunUdp: readonly HostPort[];
  readonly stunTcp: readonly HostPort[];
  /** Where lost packets are counted; `gateway` is the default gateway. */
  readonly packetLoss: readonly string[];
  /** Each single question takes at most this long. Milliseconds. */
  readonly timeoutMs: number;
}

/** `1.1.1.1:53`, `stun.example:3478`, `[::1]:53`. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The targets cannot be read. */
export class TargetsError extends Error {
  override readonly name = "TargetsError";
}

const DNS_PORT = 53;
const STUN_PORT = 3478;

const at = (port: number) => (text: string) => parseHostPort(text, port, "built in");

/** Public servers that answer everybody. The local stub resolver is there on most of Linux. */
export function defaultTargets(os: string): NetworkTargets {
  const dns = ["1.1.1.1", "8.8.8.8", "208.67.222.222", ...os === "linux" ? ["127.0.0.53"] : []];
  const stun = [
    ...["stun.l.google.com:3478", "stun.l.google.com:19302", "global.stun.twilio.com:3478"],
    ...["stun.sipgate.net:3478", "stun.sipgate.net:3479"],
  ];
  return {
    dnsServers: dns.map(at(DNS_PORT)),
    dnsName: "google.com",
    names: ["cloudflare.com", "google.com", "github.com"],
    stunUdp: stun.map(at(STUN_PORT)),
    stunTcp: ["stun.nextcloud.com:443"].map(at(STUN_PORT)),
    packetLoss: ["gateway", "1.1.1.1"],
    timeoutMs: 5_000,
  };
}

type Reader = (value: JsonValue, key: string) => Partial<NetworkTargets>;

const READERS: Readonly<Record<string, Reader>> = {
  dns_servers: (value, key) => ({ dnsServers: addresses(value, key, DNS_PORT) }),
  dns_name: (value, key) => ({ dnsName: name(value, key) }),
  names: (value, key) => ({ names: texts(value, key) }),
  stun_udp: (value, key) => ({ stunUdp: addresses(value, key, STUN_PORT) }),
  stun_tcp: (value, key) => ({ stunTcp: addresses(value, key, STUN_PORT) }),
  packet_loss: (value, key) => ({ packetLoss: texts(value, key) }),
  timeout: (value, key) => ({ timeoutMs: timeout(value, key) }),
};

/**
 * Reads targets; what is left out keeps its default.
 *
 * ```json
 * {"dns_servers": ["192.0.2.1"], "dns_name": "example.com", "names": ["example.com"],
 *  "stun_udp": ["stun.example:3478"], "stun_tcp": [], "packet_loss": ["gateway"], "timeout": "2s"}
 * ```
 *
 * @throws {TargetsError}
 */
export function parseTargets(json: JsonValue, defaults: NetworkTargets): NetworkTargets {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new TargetsError("the targets of the network check are a JSON object");
  }
  let targets = defaults;
  for (const [key, value] of Object.entries(json)) {
    const read = READERS[key];
    if (!read) {
      const near = nearestName(key, Object.keys(READERS));
      const hint = near === undefined ? Object.keys(READERS).join(", ") : `did you mean ${near}?`;
      throw new TargetsError(`unknown key ${JSON.stringify(key)} in the targets: ${hint}`);
    }
    targets = { ...targets, ...read(value, key) };
  }
  return targets;
}

/** @throws {TargetsError} */
export function parseHostPort(text: string, defaultPort: number, where: string): HostPort {
  const [, v6, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = v6 ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host !== undefined && port > 0 && port <= 65_535) return { host, port };
  throw wrong(where, text, "host or host:port, for example 192.0.2.1:53");
}

function addresses(value: JsonValue, key: string, port: number): HostPort[] {
  return texts(value, key).map((text) => parseHostPort(text, port, key));
}

function texts(value: JsonValue, key: string): string[] {
  if (Array.isArray(value)) return value.map((entry) => name(entry, key));
  throw wrong(key, value, "a list of texts");
}

function name(value: JsonValue, key: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw wrong(key, value, "a text that is not empty");
}

function timeout(value: JsonValue, key: string): number {
  try {
    const ms = typeof value === "string" ? parseGoDuration(value) : 0;
    if (ms > 0 && ms <= 60_000) return ms;
  } catch {
    // Reported below, with the key.
  }
  throw wrong(key, value, "a duration above zero, up to 1m");
}

function wrong(key: string, found: JsonValue, allowed: string): TargetsError {
  return new TargetsError(
    `${key} of the network check: found ${JSON.stringify(found)}, allowed: ${allowed}`,
  );
}
