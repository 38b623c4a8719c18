import type {
  Connection,
  ConnectionEvents,
  ConnectTarget,
  Host,
  Listener,
  ListenOptions,
  OnConnection,
} from "../../core/host/host.ts";

/** How long bytes travel. Milliseconds. */
const LATENCY_MS = 2;
const PORT = 8080;

interface Timer {
  readonly id: number;
  readonly at: number;
  readonly callback: () => void;
}

/** What a {@link VirtualHost} takes from the host that the script runs on. */
export type Borrowed = Pick<Host, "sha256" | "verifyEd25519" | "random" | "memory" | "log">;

/** Takes a connection that the machine opened. */
export type Peer = (connection: Connection) => ConnectionEvents;

/**
 * A host whose time moves when a test calls {@link VirtualHost.step}, and whose network is in its own
 * memory: the machine reaches one peer by any name, and itself by 127.0.0.1.
 */
export class VirtualHost implements Host {
  #now = 0;
  #wall = 0;
  #lastTimer = 0;
  /** The next one last. */
  readonly #timers: Timer[] = [];
  readonly #values = new Map<string, Uint8Array>();
  readonly #ends = new Set<End>();
  #listener: OnConnection | undefined;
  /** Whether the peer can be reached. */
  isOnline = true;
  peer: Peer | undefined;
  readonly firmware: Host["firmware"] = {
    ...{ version: "1.0.0", confirmed: true },
    ...{
      begin: () => {},
      write: () => {},
      digest: () => new Uint8Array(32),
      finish: () => {},
      confirm: () => {},
    },
    rollBack: () => {},
  };
  readonly gpio = undefined;
  readonly i2c = undefined;
  readonly adc = undefined;
  readonly pwm = undefined;
  readonly flash: Host["flash"] = {
    largestValue: 128 * 1024,
    read: (key) => this.#values.get(key)?.slice(),
    write: (key, bytes) => void this.#values.set(key, bytes.slice()),
    remove: (key) => void this.#values.delete(key),
  };

  constructor(private readonly borrowed: Borrowed) {}

  now = (): number => this.#now;
  wallClock = (): number => this.#wall === 0 ? 0 : this.#wall + this.#now;
  setWallClock = (unixMs: number): void => void (this.#wall = unixMs - this.#now);
  random = (length: number): Uint8Array => this.borrowed.random(length);
  sha256 = (bytes: Uint8Array): Uint8Array => this.borrowed.sha256(bytes);
  verifyEd25519: Host["verifyEd25519"] = (key, message, signature) =>
    this.borrowed.verifyEd25519(key, message, signature);
  memory = () => this.borrowed.memory();
  log = (): void => {};
  watchdog = (): void => {};
  restart = (): void => this.borrowed.log("the machine restarts");
  localAddress = (): string => "192.0.2.7";

  setTimer = (ms: number, callback: () => void): number => {
    const timer = { id: ++this.#lastTimer, at: this.#now + Math.max(0, ms), callback };
    const place = this.#timers.findLastIndex(({ at }) => at > timer.at);
    this.#timers.splice(place + 1, 0, timer);
    return timer.id;
  };

  clearTimer = (id: number): void => {
    const place = this.#timers.findIndex((timer) => timer.id === id);
    if (place >= 0) this.#timers.splice(place, 1);
  };

  /** Moves the time to the next timer and calls it back. Promises get their turn when it returns. */
  step(): void {
    const timer = this.#timers.pop();
    if (!timer) throw new Error("nothing is to happen any more");
    this.#now = timer.at;
    timer.callback();
  }

  connect = (target: ConnectTarget, events: ConnectionEvents): Connection => {
    const { peer } = this;
    const there = target.host === "127.0.0.1"
      ? (connection: Connection) => this.#listener?.(connection, { address: "127.0.0.1" })
      : peer && this.isOnline
      ? peer
      : undefined;
    const near = new End(this, this.#ends, events);
    this.setTimer(LATENCY_MS, () => {
      const far = new End(this, this.#ends, undefined);
      far.events = there?.(far);
      if (!far.events) {
        far.destroy();
        return near.fail("nobody answers");
      }
      near.other = far;
      far.other = near;
      near.open();
    });
    return near;
  };

  listen = (_options: ListenOptions, onConnection: OnConnection): Listener => {
    this.#listener = onConnection;
    return { port: PORT, close: () => void (this.#listener = undefined) };
  };

  /** Ends all connections, as a router that restarts. */
  cut(): void {
    for (const end of [...this.#ends]) end.fail("the network was cut");
  }

  /** Connections that are open, both ends. */
  get openEnds(): number {
    return this.#ends.size;
  }
}

/** One end of a connection in memory. */
class End implements Connection {
  other: End | undefined;
  #isOpen = false;
  readonly #waiting: Uint8Array[] = [];

  constructor(
    private readonly host: VirtualHost,
    private readonly ends: Set<End>,
    public events: ConnectionEvents | undefined,
  ) {
    ends.add(this);
  }

  open(): void {
    this.#isOpen = true;
    this.events?.onOpen?.();
    for (const bytes of this.#waiting.splice(0)) this.write(bytes);
  }

  write(bytes: Uint8Array): boolean {
    const copy = bytes.slice();
    const { other } = this;
    if (!other && !this.#isOpen) this.#waiting.push(copy);
    else if (other) this.host.setTimer(LATENCY_MS, () => other.events?.onData(copy));
    return true;
  }

  end(): void {
    const { other } = this;
    this.host.setTimer(LATENCY_MS, () => {
      other?.close()?.onEnd();
      this.close()?.onEnd();
    });
  }

  destroy(): void {
    const { other } = this;
    this.close();
    if (other) this.host.setTimer(LATENCY_MS, () => other.close()?.onEnd());
  }

  fail(text: string): void {
    this.close()?.onError(text);
  }

  /** Gives what has to learn of it, once. */
  close(): ConnectionEvents | undefined {
    const { events } = this;
    this.events = undefined;
    this.other = undefined;
    this.ends.delete(this);
    return events;
  }
}
