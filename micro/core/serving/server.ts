import { concat } from "../bytes/bytes.ts";
import type { Connection, ConnectionEvents, Host, Listener, ListenOptions } from "../host/host.ts";
import { PREFACE } from "../../../shared/rpc/h2/frames.ts";
import { Http1Connection } from "./http1.ts";
import { Http2Connection } from "./http2.ts";
import type { Services } from "./services.ts";

/** Connections at the same time; another one takes the place of one where no call runs. */
const MOST_CONNECTIONS = 6;
/** A connection that brings nothing for so long is closed. Milliseconds. */
const IDLE_MS = 5 * 60_000;
/** One that has not said what it wants by then, too. Milliseconds. */
const FIRST_MS = 10_000;

/** What reads a connection, whichever protocol it speaks. */
interface Speaker {
  push(bytes: Uint8Array): void;
  /** Whether a call runs. What somebody unknown has only begun to send is none. */
  readonly busy: boolean;
  /** Whether somebody who signed in has called. */
  readonly known: boolean;
  close?(): void;
}

interface Open {
  readonly connection: Connection;
  speaker: Speaker | undefined;
  lastAt: number;
}

export interface ServerOptions {
  readonly host: Host;
  readonly services: Services;
  readonly port: number;
  /** Left out: without TLS. */
  readonly tls?: NonNullable<ListenOptions["tls"]>;
  /** Answer to `GET /`. */
  readonly title: string;
}

/** The port of the local network. */
export class Server {
  readonly #open = new Set<Open>();
  readonly #listener: Listener;
  #sweeping: number;

  /** @throws Error where the port cannot be opened */
  constructor(private readonly options: ServerOptions) {
    const { host, port, tls } = options;
    this.#listener = host.listen(
      { port, ...(tls && { tls }) },
      (connection) => this.#accept(connection),
    );
    this.#sweeping = host.setTimer(FIRST_MS, () => this.#sweep());
  }

  get port(): number {
    return this.#listener.port;
  }

  close(): void {
    this.options.host.clearTimer(this.#sweeping);
    this.#listener.close();
    for (const open of [...this.#open]) this.#drop(open);
  }

  #accept(connection: Connection): ConnectionEvents | undefined {
    if (this.#open.size >= MOST_CONNECTIONS && !this.#makeRoom()) return undefined;
    const open: Open = { connection, speaker: undefined, lastAt: this.options.host.now() };
    this.#open.add(open);
    let first: Uint8Array = new Uint8Array(0);
    const forget = () => {
      this.#open.delete(open);
      open.speaker?.close?.();
    };
    return {
      onData: (bytes) => {
        open.lastAt = this.options.host.now();
        if (!open.speaker) {
          first = concat([first, bytes]);
          // Neither HTTP/1.1 nor HTTP/2, such as TLS: who tries that first does not wait for long.
          if (!startsWithMethod(first)) return this.#drop(open);
          open.speaker = this.#choose(connection, first);
          if (!open.speaker) return;
          const given = first;
          first = new Uint8Array(0);
          open.speaker.push(given);
        } else open.speaker.push(bytes);
      },
      onEnd: forget,
      onError: forget,
    };
  }

  /** By its first bytes; undefined: there are too few. */
  #choose(connection: Connection, first: Uint8Array): Speaker | undefined {
    const { host, services, title } = this.options;
    const same = PREFACE.subarray(0, first.length).every((byte, i) => byte === first[i]);
    if (!same) return new Http1Connection(connection, services, title);
    if (first.length < PREFACE.length) return undefined;
    return new Http2Connection(host, connection, services);
  }

  /** Closes the connection that was silent longest, strangers' first. */
  #makeRoom(): boolean {
    const rank = ({ speaker }: Open) => speaker?.known ? 1 : 0;
    const [first] = [...this.#open].filter(({ speaker }) => !speaker?.busy)
      .sort((a, b) => rank(a) - rank(b) || a.lastAt - b.lastAt);
    if (!first) return false;
    this.#drop(first);
    return true;
  }

  #sweep(): void {
    const now = this.options.host.now();
    for (const open of [...this.#open]) {
      const silent = now - open.lastAt;
      if (silent > (open.speaker ? IDLE_MS : FIRST_MS)) this.#drop(open);
    }
    this.#sweeping = this.options.host.setTimer(FIRST_MS, () => this.#sweep());
  }

  #drop(open: Open): void {
    this.#open.delete(open);
    open.speaker?.close?.();
    open.connection.destroy();
  }
}

/** Whether a connection begins with the name of a method, as HTTP/1.1 and the preface do. */
function startsWithMethod([first = 0]: Uint8Array): boolean {
  return first >= 0x41 && first <= 0x5a;
}
