import { connect, createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  ConnectionCounter,
  type ConnectionLimits,
  type ConnectionPlace,
} from "./connection_limits.ts";
import type { AddressList } from "./address_list.ts";
import { HttpTimes } from "./http_times.ts";
import { listen, type ListenAddress } from "./listen.ts";
import { LocalAddresses, type Peer, plainAddress } from "./peer.ts";
import { readProxyHeader } from "./proxy_protocol.ts";
import { readProtocol, readStart } from "./sniff.ts";
import { TlsHandshakes } from "./tls_handshakes.ts";

export interface EdgeOptions {
  readonly listen: ListenAddress;
  /** PEM texts; with them every connection is TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly limits: ConnectionLimits;
  /**
   * Load balancers whose connections begin with a PROXY header, version 1 or 2, with the caller's
   * address, before TLS; others are refused with one. Default: there are none.
   */
  readonly balancers?: AddressList | undefined;
  /** Serve TLS by `node:tls`, else by `Deno.listenTls`. Default: by the first, where it works. */
  readonly nodeTls?: boolean;
  /** Why a TCP connection is closed before a byte of it is read; undefined: it is taken. */
  readonly admit?: ((ends: ConnectionEnds) => string | undefined) | undefined;
  /** Close connections that do not speak HTTP/2. Default false. */
  readonly http2Only?: boolean;
  /** Takes an HTTP/2 connection, with nothing read from it. */
  readonly onHttp2: (socket: Socket, peer: Peer) => void;
  /** The private loopback port that serves HTTP/1.1. */
  readonly httpPort: number;
  readonly onRefused: (address: string, reason: string) => void;
}

/** Both ends of a TCP connection; IP addresses as in `Peer`. */
export interface ConnectionEnds {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
}

/** The caller's side of a connection that is copied to the private HTTP port. */
export interface PrivateConnection {
  readonly peer: Peer;
  /** Called when the caller has closed it; take out what is not of interest any more. */
  readonly whenClosed: Set<() => void>;
  /** Notified of its requests. */
  readonly times: Pick<HttpTimes, "began" | "ended">;
}

/** Who is behind a connection, and what it is counted as. */
interface Caller {
  readonly peer: Peer;
  readonly place: ConnectionPlace;
}

/** The interface of the private port, and of the connections to it. */
const PRIVATE_HOST = "127.0.0.1";

/**
 * The one public port of a process. It accepts, with TLS or without, distinguishes HTTP/2 from
 * HTTP/1.1 by ALPN or by the first bytes, hands HTTP/2 over as it is and copies HTTP/1.1 to a
 * private port on loopback. It knows who is behind each connection of either kind.
 */
export class Edge {
  readonly #private = new Map<number, PrivateConnection>();
  readonly #sockets = new Set<Socket>();
  readonly #httpSockets = new Set<Socket>();
  readonly #local = new LocalAddresses();
  readonly #counter: ConnectionCounter;
  readonly #server: Server;
  readonly #tls: TlsHandshakes | undefined;
  /** Connections with TLS, by their ends. */
  readonly #callers = new Map<string, Caller & { readonly socket: Socket }>();

  private constructor(private readonly options: EdgeOptions) {
    const { limits, tls, nodeTls } = options;
    this.#counter = new ConnectionCounter(limits);
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    const { handshakeMs } = limits;
    this.#tls = tls && new TlsHandshakes(tls, { handshakeMs, byNode: nodeTls }, (socket) => {
      this.#secured(socket);
    });
  }

  /** Starts to listen. Throws {@link PortInUseError} when the port is taken. */
  static async listen(options: EdgeOptions): Promise<Edge> {
    const edge = new Edge(options);
    await listen(edge.#server, options.listen);
    return edge;
  }

  /** The address that is listened on; the real port when 0 was requested. */
  get address(): { hostname: string; port: number } {
    const address = this.#server.address();
    return typeof address === "object" && address !== null
      ? { hostname: address.address, port: address.port }
      : { hostname: address ?? "", port: 0 };
  }

  /**
   * What is behind a connection to the private HTTP port, by that connection's own end. Undefined
   * for a connection that did not come through the edge: other addresses of loopback have the same
   * ports again.
   */
  behindPrivate(
    { hostname, port }: { hostname: string; port: number },
  ): PrivateConnection | undefined {
    return hostname === PRIVATE_HOST ? this.#private.get(port) : undefined;
  }

  /**
   * Serves connections from now on with another certificate; open ones continue with theirs. It
   * must have been checked: with one that is broken every handshake would fail.
   */
  setCertificate(tls: { readonly cert: string; readonly key: string }): void {
    if (!this.#tls) throw new Error("this port serves no TLS");
    this.#tls.setCertificate(tls);
  }

  /** Whether a connection is open. */
  get isConnected(): boolean {
    return this.#sockets.size > 0;
  }

  /** Stops to accept; open connections continue. */
  stopAccepting(): void {
    this.#server.close();
    this.#tls?.close();
  }

  /** Ends the HTTP/1.1 connections, which clients keep open between requests. */
  endHttp(): void {
    for (const socket of this.#httpSockets) socket.destroy();
  }

  /** Ends every open connection. */
  destroy(): void {
    this.stopAccepting();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Takes a TCP connection, with nothing read from it. */
  #accept(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? "");
    const unix = "path" in this.options.listen;
    const local = unix || this.#local.has(address);
    socket.on("error", () => socket.destroy());
    const unwanted = unix ? undefined : this.options.admit?.(endsOf(socket));
    if (unwanted !== undefined) return this.#refuse(socket, address, unwanted);
    const isBalancer = !unix && (this.options.balancers?.has(address) ?? false);
    // What a balancer passes on is counted for the caller, once that is known.
    const place = this.#enter(socket, address, local || isBalancer);
    if (!place) return;
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.setNoDelay(true);
    const peer: Peer = {
      address: unix ? (this.options.listen as { path: string }).path : address,
      port: socket.remotePort ?? 0,
      transport: unix ? "unix" : "tcp",
      local,
    };
    if (!isBalancer) return this.#begin(socket, { peer, place });
    const { handshakeMs } = this.options.limits;
    readStart(socket, handshakeMs, readProxyHeader, (header) => {
      if (header.kind === "invalid") return this.#refuse(socket, address, header.reason);
      if (header.kind === "local") return this.#begin(socket, { peer, place });
      place.leave();
      const counted = this.#enter(socket, header.address, false);
      if (!counted) return;
      const { address: caller, port } = header;
      const proxied: Peer = { address: caller, port, transport: "tcp", local: false };
      this.#begin(socket, { peer: proxied, place: counted });
    });
  }

  #begin(socket: Socket, caller: Caller): void {
    if (!this.#tls) return this.#serve(socket, caller);
    const key = JSON.stringify(endsOf(socket));
    this.#callers.set(key, { ...caller, socket });
    socket.once("close", () => {
      if (this.#callers.get(key)?.socket === socket) this.#callers.delete(key);
    });
    this.#tls.take(socket);
  }

  #secured(socket: TLSSocket): void {
    socket.on("error", () => socket.destroy());
    const caller = this.#callers.get(JSON.stringify(endsOf(socket)));
    if (!caller) return void socket.destroy(); // it has gone
    caller.socket.once("close", () => socket.destroy());
    const { alpnProtocol } = socket;
    if (typeof alpnProtocol === "string") this.#forward(socket, caller, alpnProtocol === "h2");
    else this.#serve(socket, caller);
  }

  #serve(socket: Socket, caller: Caller): void {
    readStart(socket, this.options.limits.handshakeMs, readProtocol, (first) => {
      if (first.kind === "known") this.#forward(socket, caller, first.http2);
      else this.#refuse(socket, caller.peer.address, first.reason);
    });
  }

  #forward(socket: Socket, { peer, place }: Caller, http2: boolean): void {
    if (http2) this.options.onHttp2(socket, peer);
    else if (this.options.http2Only) {
      this.#refuse(socket, peer.address, "it does not support HTTP/2");
    } else this.#splice(socket, peer, place);
  }

  #refuse(socket: Socket, address: string, reason: string): void {
    this.options.onRefused(address, reason);
    socket.destroy();
  }

  /** Counts a connection until it closes; one that there is no place for is closed. */
  #enter(socket: Socket, address: string, local: boolean): ConnectionPlace | undefined {
    const place = this.#counter.enter(address, local);
    if ("refused" in place) {
      this.#refuse(socket, address, place.refused);
      return undefined;
    }
    socket.once("close", () => place.leave());
    return place;
  }

  #splice(socket: Socket, peer: Peer, place: ConnectionPlace): void {
    // Both ends of the connection within take one more each.
    const full = place.widen(2);
    if (full) return this.#refuse(socket, peer.address, full.refused);
    this.#httpSockets.add(socket);
    const inner = connect({
      host: PRIVATE_HOST,
      localAddress: PRIVATE_HOST,
      port: this.options.httpPort,
      noDelay: true,
    });
    const times = new HttpTimes({ limits: this.options.limits, onLate: () => socket.destroy() });
    const connection = { peer, whenClosed: new Set<() => void>(), times };
    let privatePort: number | undefined;
    const forget = () => {
      if (privatePort !== undefined) this.#private.delete(privatePort);
      privatePort = undefined;
    };
    inner.once("connect", () => {
      privatePort = inner.localPort;
      if (privatePort !== undefined) this.#private.set(privatePort, connection);
      socket.on("data", () => times.bytes());
      socket.pipe(inner);
      inner.pipe(socket);
    });
    inner.once("close", () => {
      forget();
      socket.destroy();
    });
    inner.on("error", () => socket.destroy());
    socket.once("close", () => {
      this.#httpSockets.delete(socket);
      times.end();
      // Before the port is free: whoever gets it next is somebody else.
      forget();
      inner.destroy();
      for (const run of connection.whenClosed) run();
    });
  }
}

function endsOf(socket: Socket): ConnectionEnds {
  return {
    remoteAddress: plainAddress(socket.remoteAddress ?? ""),
    remotePort: socket.remotePort ?? 0,
    localAddress: plainAddress(socket.localAddress ?? ""),
    localPort: socket.localPort ?? 0,
  };
}
