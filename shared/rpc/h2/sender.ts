/** Decides which requests begin when, and what of their data is sent. */
import { DataSender } from "./data_sender.ts";
import { MAX_31_BITS, Setting } from "./frames.ts";
import type { Outbox } from "./outbox.ts";
import type { H2Stream } from "./stream.ts";

/** Streams at a time until the peer has said how many; the RFC advises servers to allow as many. */
const FIRST_STREAM_LIMIT = 100;

/** The streams of a client's connection as far as they send. */
export class Sender {
  /** Requests that aren't sent yet, oldest first. */
  readonly waiting = new Set<H2Stream>();
  readonly #data: DataSender<H2Stream>;
  #streamLimit = FIRST_STREAM_LIMIT;

  /** @param nextId number of the next stream. */
  constructor(private readonly outbox: Outbox, private nextId: number) {
    this.#data = new DataSender(outbox);
  }

  /** Streams that have begun, by number. */
  get streams(): ReadonlyMap<number, H2Stream> {
    return this.#data.streams;
  }
  /** True when the connection can't have one more stream. */
  get exhausted(): boolean {
    return this.nextId > MAX_31_BITS;
  }

  /** False for numbers that no stream has had yet. */
  hasBegun(streamId: number): boolean {
    return streamId % 2 === 1 && streamId < this.nextId;
  }

  /** Sends what limits, windows and the socket allow. */
  pump(): void {
    for (const stream of this.waiting) {
      const full = this.streams.size >= this.#streamLimit;
      if (full || !this.outbox.roomy || this.exhausted) break;
      this.waiting.delete(stream);
      this.#begin(stream);
    }
    this.#data.pump();
  }

  /** There is something to be sent on a stream. */
  wants(stream: H2Stream): void {
    // One that waits is looked at when it begins.
    if (stream.id === 0) return;
    this.#data.add(stream);
    this.pump();
  }

  /** @returns true when the stream had begun. */
  forget(stream: H2Stream): boolean {
    this.waiting.delete(stream);
    return this.#data.forget(stream);
  }

  /** @throws {ProtocolError} for settings that make a window too large. */
  apply(settings: readonly (readonly [key: number, value: number])[]): void {
    for (const [key, value] of settings) {
      if (key === Setting.maxConcurrentStreams) this.#streamLimit = value;
      else this.#data.apply(key, value);
    }
  }

  /** @throws {ProtocolError} for a window that becomes too large. */
  growConnection(increment: number): void {
    this.#data.growConnection(increment);
  }

  /** @returns false for a window that becomes too large; the stream can't continue then. */
  growStream(stream: H2Stream, increment: number): boolean {
    return this.#data.growStream(stream, increment);
  }

  #begin(stream: H2Stream): void {
    stream.id = this.nextId;
    this.nextId += 2;
    this.#data.begin(stream);
    this.#data.sendHeaders(stream.id, stream.headers, { end: false });
    if (stream.waitingBytes > 0 || stream.ended) this.#data.add(stream);
  }
}
