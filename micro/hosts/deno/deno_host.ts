// deno-lint-ignore-file no-console
import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { join } from "node:path";
import type {
  Connection,
  ConnectionEvents,
  ConnectTarget,
  Host,
  Listener,
  ListenOptions,
  OnConnection,
} from "../../core/host/host.ts";

/** DER that stands before the 32 bytes of an Ed25519 public key (RFC 8410). */
const ED25519_DER = new Uint8Array([0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0]);

export interface DenoHostOptions {
  /** Folder that stands for the flash. */
  readonly dir: string;
  readonly log?: (line: string) => void;
  readonly restart?: () => void;
  /** What to replace: drivers of pins, firmware slots, a clock that nobody set. */
  readonly parts?: Partial<Host>;
}

/** The host for tests: sockets, files and timers of Deno. */
export function denoHost({ dir, log, restart, parts }: DenoHostOptions): Host {
  const timers = new Map<number, ReturnType<typeof setTimeout>>();
  let lastTimer = 0;
  return {
    now: () => performance.now(),
    wallClock: () => Date.now(),
    setWallClock: () => {},
    random: (length) => new Uint8Array(randomBytes(length)),
    setTimer(ms, callback) {
      const id = ++lastTimer;
      timers.set(
        id,
        setTimeout(() => {
          timers.delete(id);
          callback();
        }, ms),
      );
      return id;
    },
    clearTimer(id) {
      clearTimeout(timers.get(id));
      timers.delete(id);
    },
    connect,
    listen,
    localAddress: () => "127.0.0.1",
    flash: {
      largestValue: 1024 * 1024,
      read: (key) => {
        try {
          return Deno.readFileSync(join(dir, key));
        } catch {
          return undefined;
        }
      },
      write: (key, bytes) => {
        Deno.writeFileSync(join(dir, `${key}.new`), bytes);
        Deno.renameSync(join(dir, `${key}.new`), join(dir, key));
      },
      remove: (key) => {
        try {
          Deno.removeSync(join(dir, key));
        } catch {
          // It was not there.
        }
      },
    },
    sha256: (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest()),
    verifyEd25519(publicKey, message, signature) {
      const der = new Uint8Array([...ED25519_DER, ...publicKey]);
      const key = createPublicKey({ key: der as never, format: "der", type: "spki" });
      return verify(null, message, key, signature);
    },
    memory: () => ({ used: Deno.memoryUsage().heapUsed, limit: 0 }),
    watchdog: () => {},
    log: log ?? ((line) => console.error(line)),
    restart: restart ?? (() => {}),
    firmware: undefined,
    gpio: undefined,
    i2c: undefined,
    adc: undefined,
    pwm: undefined,
    ...parts,
  };
}

function connect(target: ConnectTarget, events: ConnectionEvents): Connection {
  const link = new Link(events);
  const opening = target.tls
    ? Deno.connectTls({ hostname: target.host, port: target.port })
    : Deno.connect({ hostname: target.host, port: target.port });
  opening.then((conn) => link.use(conn, true), (error: Error) => link.fail(error.message));
  return link;
}

function listen(options: ListenOptions, onConnection: OnConnection): Listener {
  const { port, tls } = options;
  const listener = tls
    ? Deno.listenTls({ port, cert: tls.certificate, key: tls.privateKey })
    : Deno.listen({ port });
  const accept = async () => {
    for await (const conn of listener) {
      const link = new Link(undefined);
      const address = (conn.remoteAddr as Deno.NetAddr).hostname;
      const events = onConnection(link, { address });
      if (!events) conn.close();
      else {
        link.events = events;
        link.use(conn, false);
      }
    }
  };
  accept().catch(() => {});
  return { port: (listener.addr as Deno.NetAddr).port, close: () => listener.close() };
}

/** One socket, written to in order. */
class Link implements Connection {
  #conn: Deno.Conn | undefined;
  #over = false;
  #ending = false;
  #writing: Promise<void> = Promise.resolve();
  #waiting: Uint8Array[] = [];

  constructor(public events: ConnectionEvents | undefined) {}

  use(conn: Deno.Conn, opened: boolean): void {
    if (this.#over) return conn.close();
    this.#conn = conn;
    if (opened) this.events?.onOpen?.();
    for (const bytes of this.#waiting.splice(0)) this.write(bytes);
    this.#read(conn);
  }

  write(bytes: Uint8Array): boolean {
    const conn = this.#conn;
    if (this.#over || this.#ending) return true;
    if (!conn) {
      this.#waiting.push(bytes.slice());
      return true;
    }
    const copy = bytes.slice();
    this.#writing = this.#writing.then(async () => {
      for (let at = 0; at < copy.length;) at += await conn.write(copy.subarray(at));
    }).catch((error: Error) => this.fail(error.message));
    return true;
  }

  end(): void {
    this.#ending = true;
    this.#writing.then(() => this.#finish(() => this.events?.onEnd()));
  }

  destroy(): void {
    this.#finish(() => {});
  }

  fail(text: string): void {
    this.#finish(() => this.events?.onError(text));
  }

  async #read(conn: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(16 * 1024);
    try {
      for (;;) {
        const count = await conn.read(buffer);
        if (this.#over) return;
        if (count === null) return this.#finish(() => this.events?.onEnd());
        this.events?.onData(buffer.slice(0, count));
      }
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  #finish(notify: () => void): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#conn?.close();
    } catch {
      // It is closed already.
    }
    notify();
  }
}
