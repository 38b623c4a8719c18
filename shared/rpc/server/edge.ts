import { Buffer } from "node:buffer";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, Server as TlsServer, type TLSSocket } from "node:tls";
import {
  ConnectionCounter,
  type ConnectionLimits,
  type ConnectionPlace,
} from "./connection_limits.ts";
import type { AddressList } from "./address_list.ts";
import { HttpTimes } from "../http_times.ts";
import { PatientTimer } from "../patient_timer.ts";
import { listen, type ListenAddress } from "./listen.ts";
import { DenoTlsServer, nodeServesTls, type TlsConnection } from "./deno_tls_server.ts";
import { LocalAddresses, type Peer, plainAddress } from "./peer.ts";
import { readFirstBytes } from "./sniff.ts";

export interface EdgeOptions {
  readonly listen: ListenAddress;
  /** PEM texts; with them every connection is TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly limits: ConnectionLimits;
  /**
   * Load balancers whose connections begin with a PROXY header, version 1 or 2, with the caller's
   * address; others are refused with one. Not with `tls`. Default: there are none.
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
  readonly #server: Server | DenoTlsServer;

  private constructor(private readonly options: EdgeOptions) {
    this.#counter = new ConnectionCounter(options.limits);
    this.#server = !options.tls
      ? createServer({ noDelay: true }, (socket) => this.#accept(socket))
      : (options.nodeTls ?? nodeServesTls())
      ? createTlsServer(
        {
          cert: options.tls.cert,
          key: options.tls.key,
          minVersion: "TLSv1.2",
          // Browsers and curl offer both and take the first; gRPC clients offer only h2.
          ALPNProtocols: ["http/1.1", "h2"],
          handshakeTimeout: options.limits.handshakeMs,
        },
        (socket: TLSSocket) => this.#accept(socket),
        // Else whose handshake takes too long stays connected, counted by nobody.
      ).on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy())
      : new DenoTlsServer(
        options.tls,
        options.limits.handshakeMs,
        // It has all that is used of a socket here and where it is handed over to.
        (socket: TlsConnection) => this.#accept(socket as unknown as Socket),
      );
  }

  /** Starts to listen. Throws {@link PortInUseError} when the port is taken. */
  static async listen(options: EdgeOptions): Promise<Edge> {
    const edge = new Edge(options);
    await listen(edge.#public, options.listen);
    return edge;
  }

  get #public(): Server {
    return this.#server instanceof DenoTlsServer ? this.#server.port : this.#server;
  }

  /** The address that is listened on; the real port when 0 was requested. */
  get address(): { hostname: string; port: number } {
    const address = this.#public.address();
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
    if (this.#server instanceof DenoTlsServer) return this.#server.setCertificate(tls);
    if (!(this.#server instanceof TlsServer)) throw new Error("this port serves no TLS");
    this.#server.setSecureContext({ cert: tls.cert, key: tls.key, minVersion: "TLSv1.2" });
  }

  /** Whether a connection is open. */
  get isConnected(): boolean {
    return this.#sockets.size > 0;
  }

  /** Stops to accept; open connections continue. */
  stopAccepting(): void {
    this.#server.close();
  }

  /** Ends the HTTP/1.1 connections, which clients keep open between requests. */
  endHttp(): void {
    for (const socket of this.#httpSockets) socket.destroy();
  }

  /** Ends every open connection. */
  destroy(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? "");
    const unix = "path" in this.options.listen;
    const local = unix || this.#local.has(address);
    socket.on("error", () => socket.destroy());
    const unwanted = unix ? undefined : this.options.admit?.(endsOf(socket));
    if (unwanted !== undefined) {
      this.options.onRefused(address, unwanted);
      socket.destroy();
      return;
    }
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
    const forward = (peer: Peer, http2: boolean, proxied: boolean) => {
      if (proxied) place.leave();
      const counted = proxied ? this.#enter(socket, peer.address, false) : place;
      if (!counted) return;
      if (http2) this.options.onHttp2(socket, peer);
      else if (this.options.http2Only) {
        this.options.onRefused(address, "it does not support HTTP/2");
        socket.destroy();
      } else this.#splice(socket, peer, counted);
    };
    const alpn = (socket as TLSSocket).alpnProtocol;
    if (typeof alpn === "string") forward(peer, alpn === "h2", false);
    else this.#sniff(socket, peer, isBalancer, forward);
  }

  /** Counts a connection until it closes; one that there is no place for is closed. */
  #enter(socket: Socket, address: string, local: boolean): ConnectionPlace | undefined {
    const place = this.#counter.enter(address, local);
    if ("refused" in place) {
      this.options.onRefused(address, place.refused);
      socket.destroy();
      return undefined;
    }
    socket.once("close", () => place.leave());
    return place;
  }

  /** Reads just enough to know the protocol, and puts it back. */
  #sniff(
    socket: Socket,
    peer: Peer,
    isBalancer: boolean,
    forward: (peer: Peer, http2: boolean, proxied: boolean) => void,
  ): void {
    const { limits, onRefused } = this.options;
    const timer = new PatientTimer(limits.handshakeMs, () => socket.destroy());
    let seen: Buffer = Buffer.alloc(0);
    const stop = () => {
      timer.cancel();
      socket.off("readable", look);
    };
    const look = () => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      const first = readFirstBytes(seen, isBalancer);
      if (first.kind === "incomplete") return;
      stop();
      if (first.kind === "invalid") {
        onRefused(peer.address, first.reason);
        socket.destroy();
        return;
      }
      socket.unshift(seen.subarray(first.skip));
      const { proxied } = first;
      forward(
        proxied === undefined
          ? peer
          : { ...proxied, address: plainAddress(proxied.address), transport: "tcp", local: false },
        first.http2,
        proxied !== undefined,
      );
    };
    socket.on("readable", look);
    socket.once("close", stop);
  }

  #splice(socket: Socket, peer: Peer, place: ConnectionPlace): void {
    // Both ends of the connection within take one more each.
    const full = place.widen(2);
    if (full) {
      this.options.onRefused(peer.address, full.refused);
      socket.destroy();
      return;
    }
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
