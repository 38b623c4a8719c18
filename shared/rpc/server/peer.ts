import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { networkInterfaces } from "node:os";

/** The remote end of a connection. */
export interface Peer {
  /** IP address without a zone or brackets; the socket's path for `unix`; empty in-process. */
  readonly address: string;
  /** TCP port; 0 where there is none. */
  readonly port: number;
  readonly transport: "tcp" | "unix" | "in-process" | "webrtc";
  /** True when the caller runs on this host: loopback, one of the host's own addresses, or a unix socket. */
  readonly local: boolean;
}

const unknownPeer: Peer = { address: "", port: 0, transport: "in-process", local: false };

/** Where handlers and interceptors find the caller: `context.values.get(peerKey)`. */
export const peerKey: ContextKey<Peer> = createContextKey<Peer>(unknownPeer, {
  description: "peer of the call",
});

/**
 * Reports whether an IP address belongs to this host. Own addresses are read again every 30
 * seconds.
 */
export class LocalAddresses {
  #own = new Set<string>();
  #readAt = -Infinity;

  constructor(
    private readonly read: () => Iterable<string> = ownAddresses,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  has(address: string): boolean {
    const plain = plainAddress(address);
    if (plain.startsWith("127.") || plain === "::1") return true;
    if (this.monotonicMs() - this.#readAt > 30_000) {
      this.#own = new Set(this.read());
      this.#readAt = this.monotonicMs();
    }
    return this.#own.has(plain);
  }
}

/** Strips an IPv4-in-IPv6 prefix and a zone: `::ffff:10.0.0.1` and `fe80::1%eth0` become plain. */
export function plainAddress(address: string): string {
  const mapped = address.startsWith("::ffff:") && address.includes(".")
    ? address.slice(7)
    : address;
  const zone = mapped.indexOf("%");
  return zone === -1 ? mapped : mapped.slice(0, zone);
}

function* ownAddresses(): Iterable<string> {
  for (const list of Object.values(networkInterfaces())) {
    for (const entry of list ?? []) yield plainAddress(entry.address);
  }
}
