/** Decides what of the requests is sent when: stream limit, windows, room in the outbox. */
import { DEFAULT_WINDOW, SendWindow } from "./flow.ts";
import {
  DEFAULT_FRAME_SIZE,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  MAX_31_BITS,
  ProtocolError,
  Setting,
  writeFrameHeader,
} from "./frames.ts";
import { NO_TABLE } from "./hpack.ts";
import type { Outbox } from "./outbox.ts";
import type { H2Stream } from "./stream.ts";

/** Streams at a time until the peer has said how many; the RFC advises servers to allow as many. */
const FIRST_STREAM_LIMIT = 100;

/** The streams of a connection as far as they send. */
export class Sender {
  /** Streams that have begun, by number. */
  readonly streams = new Map<number, H2Stream>();
  /** Requests that aren't sent yet, oldest first. */
  readonly waiting = new Set<H2Stream>();
  /** Streams with bytes to send that their window allows; each sends a frame in turn. */
  readonly #sending = new Set<H2Stream>();
  readonly #window = new SendWindow();
  #streamLimit = FIRST_STREAM_LIMIT;
  #frameSize = DEFAULT_FRAME_SIZE;
  #streamWindow = DEFAULT_WINDOW;
  #tableUpdate = false;

  /** @param nextId number of the next stream. */
  constructor(private readonly outbox: Outbox, private nextId: number) {}

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
      if (this.streams.size >= this.#streamLimit || !this.outbox.roomy || this.exhausted) break;
      this.waiting.delete(stream);
      this.#begin(stream);
    }
    for (const stream of this.#sending) {
      if (!this.outbox.roomy) return;
      const wanted = Math.min(stream.waitingBytes, this.#frameSize);
      const size = Math.min(wanted, stream.sendWindow.room, this.#window.room);
      // Who has more goes to the end of the line, which this loop reaches as well.
      this.#sending.delete(stream);
      if (size > 0 || wanted === 0) this.#sendData(stream, size);
      else if (stream.sendWindow.room > 0) {
        this.#sending.add(stream);
        return;
      }
    }
  }

  /** There is something to be sent on a stream. */
  wants(stream: H2Stream): void {
    // One that waits is looked at when it begins.
    if (stream.id === 0) return;
    this.#sending.add(stream);
    this.pump();
  }

  /** @returns true when the stream had begun. */
  forget(stream: H2Stream): boolean {
    this.#sending.delete(stream);
    this.waiting.delete(stream);
    return this.streams.delete(stream.id);
  }

  /** @throws {ProtocolError} for settings that make a window too large. */
  apply(settings: readonly (readonly [key: number, value: number])[]): void {
    for (const [key, value] of settings) {
      if (key === Setting.maxConcurrentStreams) this.#streamLimit = value;
      else if (key === Setting.maxFrameSize) this.#frameSize = value;
      else if (key === Setting.headerTableSize) this.#tableUpdate = true;
      else if (key === Setting.initialWindowSize) this.#resizeWindows(value);
    }
  }

  /** @throws {ProtocolError} for a window that becomes too large. */
  growConnection(increment: number): void {
    grow(this.#window, increment);
    this.pump();
  }

  /** @throws {ProtocolError} for a window that becomes too large. */
  growStream(stream: H2Stream, increment: number): void {
    grow(stream.sendWindow, increment);
    if (stream.waitingBytes > 0) this.wants(stream);
  }

  #begin(stream: H2Stream): void {
    stream.id = this.nextId;
    stream.sendWindow.left = this.#streamWindow;
    this.streams.set(stream.id, stream);
    this.nextId += 2;
    const block = this.#tableUpdate ? Uint8Array.of(...NO_TABLE, ...stream.block) : stream.block;
    this.#tableUpdate = false;
    for (let at = 0, type: number = FrameType.headers;; type = FrameType.continuation) {
      const part = block.subarray(at, at + this.#frameSize);
      at += part.length;
      const flags = at === block.length ? Flag.endHeaders : 0;
      const to = this.#reserveFrame(type, flags, stream.id, part.length);
      this.outbox.bytes.set(part, to);
      if (at === block.length) break;
    }
    if (stream.waitingBytes > 0 || stream.ended) this.#sending.add(stream);
  }

  #sendData(stream: H2Stream, size: number): void {
    const last = size === stream.waitingBytes;
    const flags = last && stream.ended ? Flag.endStream : 0;
    const to = this.#reserveFrame(FrameType.data, flags, stream.id, size);
    this.#window.spend(size);
    if (!last) this.#sending.add(stream);
    stream.take(this.outbox.bytes, to, size);
  }

  #reserveFrame(type: number, flags: number, streamId: number, length: number): number {
    const at = this.outbox.reserve(FRAME_HEADER_BYTES + length);
    writeFrameHeader(this.outbox.bytes, at, { length, type, flags, streamId });
    return at + FRAME_HEADER_BYTES;
  }

  #resizeWindows(size: number): void {
    const change = size - this.#streamWindow;
    this.#streamWindow = size;
    for (const stream of this.streams.values()) {
      grow(stream.sendWindow, change);
      if (stream.waitingBytes > 0) this.#sending.add(stream);
    }
  }
}

function grow(window: SendWindow, bytes: number): void {
  if (!window.grow(bytes)) {
    throw new ProtocolError(ErrorCode.flowControlError, "a window is too large");
  }
}
