/** What an entry of `remotes` asks for, with its defaults filled in. Pure. */
import { isIP } from "node:net";
import { isLoopbackHost } from "../../shared/base/net/loopback.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { parseGoDuration } from "../../shared/base/time/duration.ts";
import type { CloudCredentials } from "../../shared/cloud/auth/cloud_credentials.ts";
import type { CredentialType } from "../../shared/cloud/auth/identity.ts";
import type { RemoteConfig } from "../../shared/config/remotes.ts";
import type { ServiceConfigEntry } from "../../shared/config/resources.ts";

/** `connection_check_interval` where it is left out: a loss is noticed within 3 s. */
const CHECK_EVERY_MS = 1_000;
/** `reconnect_interval` where it is left out, as in the reference server. */
const RECONNECT_AFTER_MS = 1_000;
/** Shorter intervals would keep both machines busy. */
const SHORTEST_INTERVAL_MS = 100;
/** The port that a server listens on where nothing else is configured. */
const DEFAULT_PORT = 8_080;

/** One remote as it is to be reached. */
export interface RemoteSettings {
  readonly name: string;
  /** Put before the names of its resources. */
  readonly prefix: string;
  /** Host without brackets and port. */
  readonly host: string;
  readonly port: number;
  /** Plaintext, whatever the host is. */
  readonly insecure: boolean;
  /** TLS, even on loopback: the address says `https://`. */
  readonly tls: boolean;
  /** How to sign in; undefined for a remote that lets everybody in. */
  readonly credentials: CloudCredentials | undefined;
  readonly checkEveryMs: number;
  readonly reconnectAfterMs: number;
  readonly serviceConfigs: readonly ServiceConfigEntry[];
}

/** @throws {RangeError} when the address names no host. */
export function remoteSettings(remote: RemoteConfig): RemoteSettings {
  const { name, address = "", prefix = "", insecure = false } = remote;
  const place = placeOf(address);
  return {
    name,
    prefix,
    host: place.host,
    port: place.port,
    insecure: insecure || place.scheme === "http",
    tls: !insecure && place.scheme === "https",
    credentials: credentialsOf(remote, place.host),
    checkEveryMs: interval(remote.connection_check_interval, CHECK_EVERY_MS),
    reconnectAfterMs: interval(remote.reconnect_interval, RECONNECT_AFTER_MS),
    serviceConfigs: remote.service_configs ?? [],
  };
}

/** Whether a host may be a name that a cloud gave: no address, and no name of a local network. */
export function isCloudName(host: string): boolean {
  return host.includes(".") && isIP(host) === 0 && !isLoopbackHost(host) &&
    !host.endsWith(".local");
}

/** `https://host:port` or `http://host:port`, with brackets where the host is an IPv6 address. */
export function addressOf(
  { host, port }: Pick<RemoteSettings, "host" | "port">,
  scheme: "http" | "https",
): string {
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function placeOf(address: string): { host: string; port: number; scheme: string } {
  const [, scheme = "", rest = ""] = /^(?:(https?):\/\/)?(.*?)\/?$/i.exec(address.trim()) ?? [];
  const bare = isIP(rest) === 6 ? `[${rest}]` : rest;
  const url = URL.canParse(`h2c://${bare}`) ? new URL(`h2c://${bare}`) : undefined;
  if (!url || url.hostname === "" || url.pathname !== "" || url.username !== "") {
    throw new RangeError(
      `the address ${JSON.stringify(address)} names no host; write host or host:port`,
    );
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    scheme: scheme.toLowerCase(),
  };
}

function credentialsOf({ auth, secret }: RemoteConfig, host: string): CloudCredentials | undefined {
  const { credentials, entity } = auth ?? {};
  if (credentials && credentials.payload !== "") {
    return {
      type: credentials.type as CredentialType,
      entity: entity || host,
      payload: new Secret(credentials.payload),
    };
  }
  if (!secret) return undefined;
  return { type: "robot-location-secret", entity: host, payload: new Secret(secret) };
}

function interval(text: string | undefined, byDefault: number): number {
  const ms = text ? parseGoDuration(text) : 0;
  return ms <= 0 ? byDefault : Math.max(SHORTEST_INTERVAL_MS, ms);
}
