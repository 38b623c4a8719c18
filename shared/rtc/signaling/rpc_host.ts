import { Code, ConnectError } from "@connectrpc/connect";

/** Metadata that names the machine which is called, or the names that are answered for. */
export const RPC_HOST = "rpc-host";
/** `true`: the one who answers knows heartbeats. */
export const HEARTBEATS_ALLOWED = "heartbeats-allowed";
/** Names that one stream may answer for. */
export const MOST_HOSTS = 5;

/** Longest name of a host in DNS, with a port behind it. */
const LONGEST_HOST = 253 + 6;

/** @throws {ConnectError} INVALID_ARGUMENT when there is none, one is empty, or too many are. */
export function hostsOf(header: Headers, { most }: { readonly most: number }): string[] {
  const text = header.get(RPC_HOST);
  if (text === null) throw wrong("is missing: name the machine in it");
  const hosts = text.split(",").map((host) => host.trim());
  if (hosts.length > most) throw wrong(`names ${hosts.length} hosts; at most ${most} are allowed`);
  for (const host of hosts) {
    if (host === "") throw wrong("is empty: name the machine in it");
    if (host.length > LONGEST_HOST) throw wrong("is longer than any host's name");
  }
  return hosts;
}

function wrong(what: string): ConnectError {
  return new ConnectError(`the metadata ${RPC_HOST} ${what}`, Code.InvalidArgument);
}
