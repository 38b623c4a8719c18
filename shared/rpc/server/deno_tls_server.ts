/** A TLS server on `Deno.listenTls`, for runtimes on which those of `node:tls` are of no use. */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { writeAll } from "../../base/files/write_all.ts";
import { PatientTimer } from "../patient_timer.ts";

const READ_BYTES = 65_536;
/** After a connection could not be accepted: there are no file descriptors left, for example. */
const ACCEPT_AGAIN_MS = 100;
/** As `node:tls` is given them: browsers and curl take the first, gRPC clients offer only h2. */
const PROTOCOLS = ["http/1.1", "h2"];
/** The interface of the private port. */
const PRIVATE_HOST = "127.0.0.1";

export interface Certificate {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
}

/**
 * Whether servers of `node:tls` choose a protocol (ALPN), which gRPC cannot do without. Before Deno
 * 2.9 they do not, and take no address (measured on 2.7.11, the runtime of programs compiled in
 * closed networks).
 */
export function nodeServesTls(denoVersion: string = Deno.version.deno): boolean {
  const [major = 0, minor = 0] = denoVersion.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}

/**
 * Completes handshakes and hands connections over, as a server of `node:tls` does.
 *
 * The bytes of connections that were accepted are copied to a private port of `Deno.listenTls` on
 * loopback. Whoever connects there himself is not served. Two reasons: a connection of `Deno.listenTls` in its handshake stays open when it is
 * closed, and only the end of what it reads ends it; and with another certificate there is another
 * private port, while the public one stays.
 */
export class DenoTlsServer {
  #listener: Deno.TlsListener;
  #closed = false;
  /** Callers whose connection within has this port. */
  readonly #callers = new Map<number, Socket>();

  /**
   * @param handshakeMs how long a handshake may take
   * @throws {Error} when the certificate is none
   */
  constructor(
    certificate: Certificate,
    private readonly handshakeMs: number,
    private readonly onConnection: (socket: TlsConnection) => void,
  ) {
    this.#listener = this.#listen(certificate);
  }

  /** Serves connections from now on with another certificate; open ones continue with theirs. */
  setCertificate(certificate: Certificate): void {
    const before = this.#listener;
    this.#listener = this.#listen(certificate);
    before.close();
  }

  /** Ends handshakes; connections that are complete continue. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.close();
    for (const caller of this.#callers.values()) caller.destroy();
  }

  #listen({ cert, key }: Certificate): Deno.TlsListener {
    const listener = Deno.listenTls({
      ...{ hostname: PRIVATE_HOST, port: 0, cert, key, alpnProtocols: PROTOCOLS },
    });
    void this.#accept(listener);
    return listener;
  }

  /** Takes a connection; bytes that were read and put back come first. */
  take(caller: Socket): void {
    const inner = connect({
      ...{ host: PRIVATE_HOST, localAddress: PRIVATE_HOST, noDelay: true },
      port: this.#listener.addr.port,
    });
    let port: number | undefined;
    const timer = new PatientTimer(this.handshakeMs, () => caller.destroy());
    inner.once("connect", () => {
      port = inner.localPort;
      if (port !== undefined) this.#callers.set(port, caller);
      caller.pipe(inner);
      inner.pipe(caller);
    });
    inner.on("error", () => caller.destroy());
    inner.once("close", () => caller.destroy());
    caller.on("error", () => caller.destroy());
    caller.once("close", () => {
      timer.cancel();
      if (port !== undefined) this.#callers.delete(port);
      inner.destroy();
    });
    caller.once("secure", () => timer.cancel());
  }

  async #accept(listener: Deno.TlsListener): Promise<void> {
    for (;;) {
      try {
        void this.#handshake(await listener.accept());
      } catch {
        if (this.#closed || this.#listener !== listener) return;
        await new Promise((resolve) => setTimeout(resolve, ACCEPT_AGAIN_MS));
      }
    }
  }

  async #handshake(connection: Deno.TlsConn): Promise<void> {
    try {
      const { alpnProtocol } = await connection.handshake();
      const { port } = connection.remoteAddr;
      const caller = this.#callers.get(port);
      if (!caller) throw new Error("nobody was taken");
      this.#callers.delete(port);
      caller.emit("secure");
      this.onConnection(new TlsConnection(connection, caller, alpnProtocol ?? false));
    } catch {
      connection.close(); // Whoever it is speaks no TLS, or none that both know.
    }
  }
}

/** A connection with what is needed of a socket of `node:tls`. */
export class TlsConnection extends Duplex {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;

  /**
   * @param caller the connection that the bytes come from
   * @param alpnProtocol what both chose; false: nothing
   */
  constructor(
    private readonly connection: Deno.TlsConn,
    private readonly caller: Socket,
    readonly alpnProtocol: string | false,
  ) {
    super({ allowHalfOpen: false });
    this.remoteAddress = caller.remoteAddress;
    this.remotePort = caller.remotePort;
    this.localAddress = caller.localAddress;
    this.localPort = caller.localPort;
    caller.once("close", () => this.destroy());
  }

  /** The public port has it for all. */
  setNoDelay(): this {
    return this;
  }

  override _read(): void {
    const bytes = new Uint8Array(READ_BYTES);
    this.connection.read(bytes).then(
      (read) => this.push(read === null ? null : Buffer.from(bytes.buffer, 0, read)),
      (error) => this.destroy(error),
    );
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    writeAll(this.connection, chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.connection.closeWrite().then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.connection.close();
    // What was written last is on its way through the connection within, which then ends the caller's.
    if (error || !this.writableFinished) this.caller.destroy();
    done(error);
  }
}
