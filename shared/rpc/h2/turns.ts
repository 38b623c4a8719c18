/** Shares processor time between connections: the one that has had the least of it is next. */

/** Time in which frames are taken in one turn of the event loop, of all connections together. */
export const TURN_MS = 2;
/** Time of one connection until it is looked who is next. */
const SLICE_MS = TURN_MS / 8;
/** Bytes of a connection that wait for its turn from which on no more of it is read. */
const BYTES_AHEAD = 65_536;
/**
 * Full turns in a row until the runtime must look at all sockets. Tokio doesn't automatically while
 * there is work: only once in 61 turns.
 */
const TURNS_PER_LOOK = 4;
/** The clock is queried once in so many frames. */
const FRAMES_PER_LOOK = 8;

/**
 * Takes what it can of some bytes.
 *
 * @param goOn to be queried after each frame; false: the rest is for another turn.
 * @returns how many of the bytes were taken; one frame at least.
 */
export type Take = (bytes: Uint8Array, goOn: () => boolean) => number;

/** What is needed of a socket that is read; one of node:net has it. */
export interface ReadableSocket {
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  once(event: "close", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

export interface TurnsOptions {
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
  /** Runs something in the next turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs something when the event loop has looked at all sockets. */
  readonly afterSockets: (run: () => void) => void;
}

interface Reader {
  readonly socket: ReadableSocket;
  readonly take: Take;
  /** What arrived, and waits. */
  readonly pending: Uint8Array[];
  pendingBytes: number;
  paused: boolean;
  /** Milliseconds that it had; never less than a turn behind those of the others. */
  spentMs: number;
}

/**
 * Reads the sockets of a server. What arrives is taken at once while that is less than half of the
 * time; else it waits and is taken in later turns of the event loop, so that other work comes
 * between.
 */
export class Turns {
  readonly #waiting = new Set<Reader>();
  #scheduled = false;
  /** Full turns in a row: something waited at the end of each. */
  #fullTurns = 0;
  /** What may be taken at once, and when that was counted. */
  #atOnceMs = TURN_MS;
  #countedAt: number;
  /** What the connection that was served last had had before. */
  #leastSpentMs = 0;

  constructor(private readonly options: TurnsOptions) {
    this.#countedAt = options.monotonicMs();
  }

  /** Connections of which something waits. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Hands over what arrives until the socket is closed. */
  read(socket: ReadableSocket, take: Take): void {
    const reader: Reader = {
      ...{ socket, take, pending: [], pendingBytes: 0, paused: false, spentMs: 0 },
    };
    socket.on("data", (bytes) => this.#arrived(reader, bytes));
    socket.once("close", () => this.#waiting.delete(reader));
  }

  #arrived(reader: Reader, bytes: Uint8Array): void {
    // Being silent saves up no more than one turn, with which it comes before those that flood.
    if (reader.pending.length === 0) {
      reader.spentMs = Math.max(reader.spentMs, this.#leastSpentMs - TURN_MS);
    }
    const taken = this.#waiting.size === 0 ? this.#takeAtOnce(reader, bytes) : 0;
    if (taken === bytes.length) return;
    reader.pending.push(taken === 0 ? bytes : bytes.subarray(taken));
    reader.pendingBytes += bytes.length - taken;
    this.#waiting.add(reader);
    if (!this.#scheduled) this.#schedule(this.options.nextTurn);
    if (reader.paused || reader.pendingBytes < BYTES_AHEAD) return;
    reader.paused = true;
    reader.socket.pause();
  }

  #takeAtOnce(reader: Reader, bytes: Uint8Array): number {
    const now = this.options.monotonicMs();
    this.#atOnceMs = Math.min(TURN_MS, this.#atOnceMs + (now - this.#countedAt) / 2);
    this.#countedAt = now;
    if (this.#atOnceMs <= 0) return 0;
    const before = reader.spentMs;
    const taken = this.#take(reader, bytes, now, this.#atOnceMs);
    this.#atOnceMs -= reader.spentMs - before;
    // Nobody waited, so nobody is behind.
    this.#leastSpentMs = Math.max(this.#leastSpentMs, reader.spentMs);
    return taken;
  }

  #schedule(later: (run: () => void) => void): void {
    this.#scheduled = true;
    later(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    const endsAt = this.options.monotonicMs() + TURN_MS;
    for (let now = endsAt - TURN_MS; now < endsAt; now = this.options.monotonicMs()) {
      const reader = this.#least();
      if (!reader) {
        this.#fullTurns = 0;
        return;
      }
      this.#leastSpentMs = Math.max(this.#leastSpentMs, reader.spentMs);
      this.#serve(reader, now);
    }
    this.#fullTurns = (this.#fullTurns + 1) % TURNS_PER_LOOK;
    this.#schedule(this.#fullTurns === 0 ? this.options.afterSockets : this.options.nextTurn);
  }

  /** A few thousand at most wait, and this is queried a few times in a turn. */
  #least(): Reader | undefined {
    let least: Reader | undefined;
    for (const reader of this.#waiting) {
      if (!least || reader.spentMs < least.spentMs) least = reader;
    }
    return least;
  }

  #serve(reader: Reader, now: number): void {
    const first = reader.pending[0]!;
    const taken = this.#take(reader, first, now, SLICE_MS);
    reader.pendingBytes -= taken;
    if (taken < first.length) reader.pending[0] = first.subarray(taken);
    else reader.pending.shift();
    // Those that had as much time go first.
    this.#waiting.delete(reader);
    if (reader.pending.length > 0) return void this.#waiting.add(reader);
    if (!reader.paused) return;
    reader.paused = false;
    reader.socket.resume();
  }

  #take(reader: Reader, bytes: Uint8Array, now: number, forMs: number): number {
    const endsAt = now + forMs;
    let frames = 0;
    const taken = reader.take(
      bytes,
      () => ++frames % FRAMES_PER_LOOK > 0 || this.options.monotonicMs() < endsAt,
    );
    reader.spentMs += this.options.monotonicMs() - now;
    return taken;
  }
}
