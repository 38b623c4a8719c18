/** STUN and TURN servers as they stand in a configuration. */
import type { IceServer } from "./peer.ts";

/** Host and port. */
export type HostPort = readonly [host: string, port: number];

/** A TURN server with what it wants to know. */
export interface TurnServer {
  readonly address: HostPort;
  readonly transport: "udp" | "tcp" | "tls";
  readonly username: string;
  readonly credential: string;
}

/** The servers that can be used. */
export interface UsableServers {
  readonly stun: readonly HostPort[];
  readonly turn: readonly TurnServer[];
  /** What stands there and cannot be used, with the reason. */
  readonly problems: readonly string[];
}

/** Servers of each kind that are queried; each costs a socket or a request for each address. */
const MOST_SERVERS = 4;
const PORTS: Readonly<Record<string, number>> = { stun: 3478, turn: 3478, turns: 5349 };

/** Reads addresses (RFC 7064, RFC 7065); what cannot be used is left out and said. */
export function readIceServers(servers: readonly IceServer[]): UsableServers {
  const stun: HostPort[] = [];
  const turn: TurnServer[] = [];
  const problems: string[] = [];
  for (const { urls, username, credential } of servers) {
    for (const url of urls) {
      const parsed = parseUrl(url);
      if (!parsed) problems.push(`"${url}" is no address of a STUN or TURN server`);
      else if (parsed.kind === "stun") stun.push(parsed.address);
      else if (!username || !credential) problems.push(`"${url}" has no username or no credential`);
      else turn.push({ ...parsed, username, credential });
    }
  }
  return { stun: stun.slice(0, MOST_SERVERS), turn: turn.slice(0, MOST_SERVERS), problems };
}

type Parsed =
  | { readonly kind: "stun"; readonly address: HostPort }
  | {
    readonly kind: "turn";
    readonly address: HostPort;
    readonly transport: TurnServer["transport"];
  };

function parseUrl(url: string): Parsed | undefined {
  const match =
    /^(stun|turns?):(?:\/\/)?(\[[^\]]+\]|[^:?[\]]+)(?::(\d+))?(?:\?transport=(udp|tcp))?$/i
      .exec(url.trim());
  const [, scheme = "", host = "", portText, transport] = match ?? [];
  const kind = scheme.toLowerCase();
  const port = Number(portText ?? PORTS[kind]);
  if (!match || !(port > 0 && port < 65_536)) return undefined;
  const address: HostPort = [host.replace(/^\[|\]$/g, ""), port];
  if (kind === "stun") return { kind, address };
  if (kind === "turns") {
    return transport === "udp" ? undefined : { kind: "turn", address, transport: "tls" };
  }
  return { kind: "turn", address, transport: transport?.toLowerCase() === "tcp" ? "tcp" : "udp" };
}
