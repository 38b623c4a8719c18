/** Collects what is to be sent and writes it in one go per turn of the event loop. */
import { setImmediate } from "node:timers";
import { errorText, type WritableSocket } from "./socket.ts";
import { SpareBuffers } from "./spare_buffers.ts";

/** Collected bytes from which on no more messages should be added until they are written. */
const ROOMY_BYTES = 131_072;
/** Collected bytes that only a peer can cause that makes us answer, but doesn't read. */
export const OUTBOX_BYTES = 4 * 1024 * 1024;
const FIRST_BUFFER_BYTES = 16_384;
/** How long the last bytes may take before the socket is closed regardless. */
const LAST_WRITE_MS = 1_000;

/** What the outbox reports to its owner. */
export interface OutboxEvents {
  /** There is room for messages again. */
  room(): void;
  /** Nothing can be written any more. */
  broken(reason: string): void;
}

const NOTHING = new Uint8Array();
/** Most connections are quiet most of the time. */
const unused = new SpareBuffers(FIRST_BUFFER_BYTES);

/** Output of one connection. Bytes may be added before there is a socket. */
export class Outbox {
  /** Empty while nothing waits. */
  #bytes: Uint8Array = NOTHING;
  #spare: Uint8Array | undefined;
  #used = 0;
  #scheduled = false;
  #writing = false;
  #ended = false;
  #socket: WritableSocket | undefined;

  constructor(private readonly events: OutboxEvents) {}

  /** Where reserved space is; another array after each {@link reserve}. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }
  /** Bytes that the socket hasn't taken. */
  get size(): number {
    return this.#used;
  }
  /** False while messages should wait. */
  get roomy(): boolean {
    return this.#used < ROOMY_BYTES;
  }

  /** Takes the socket and writes what has been collected. */
  start(socket: WritableSocket): void {
    this.#socket = socket;
    this.#schedule();
  }

  /** Space for `size` bytes, at the given place of {@link bytes}; to be filled at once. */
  reserve(size: number): number {
    const at = this.#used;
    const end = at + size;
    if (end > this.#bytes.length) this.#enlarge(end);
    this.#used = end;
    this.#schedule();
    return at;
  }

  add(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Writes what is there, then closes the socket; nothing is taken after it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#socket) return;
    const socket = this.#socket;
    const timer = setTimeout(() => socket.close(), LAST_WRITE_MS);
    this.#lastWritten = () => {
      clearTimeout(timer);
      socket.close();
    };
    if (!this.#writing) void this.#write(socket);
  }
  #lastWritten = () => {};

  #enlarge(wanted: number): void {
    if (this.#bytes === NOTHING) {
      this.#bytes = this.#spare ?? unused.take();
      this.#spare = undefined;
      if (wanted <= this.#bytes.length) return;
    }
    const larger = new Uint8Array(Math.max(wanted, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#used));
    this.#giveBack(this.#bytes);
    this.#bytes = larger;
  }

  /** A buffer that one burst made large isn't kept. */
  #giveBack(buffer: Uint8Array): void {
    if (buffer.length > FIRST_BUFFER_BYTES) {
      this.#spare = buffer.length <= 2 * ROOMY_BYTES ? buffer : undefined;
    } else unused.giveBack(buffer);
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing || !this.#socket || this.#ended) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#socket && !this.#writing) void this.#write(this.#socket);
    });
  }

  async #write(socket: WritableSocket): Promise<void> {
    this.#writing = true;
    try {
      while (this.#used > 0) {
        const full = this.#bytes;
        const used = this.#used;
        this.#bytes = NOTHING;
        this.#used = 0;
        if (used > ROOMY_BYTES) this.events.room();
        for (let at = 0; at < used;) at += await socket.write(full.subarray(at, used));
        this.#giveBack(full);
      }
    } catch (error) {
      this.#used = 0;
      this.events.broken(errorText(error));
    } finally {
      this.#writing = false;
    }
    if (this.#ended) this.#lastWritten();
    else this.events.room();
  }
}
