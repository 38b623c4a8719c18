/** Decides what of the data of all streams is sent when: windows, room in the outbox. */
import { DEFAULT_WINDOW, SendWindow } from "./flow.ts";
import {
  DEFAULT_FRAME_SIZE,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  ProtocolError,
  Setting,
  writeFrameHeader,
} from "./frames.ts";
import { type HeaderBlock, HpackEncoder } from "./hpack_encoder.ts";
import type { Outbox } from "./outbox.ts";

/** A stream as far as it sends. */
export interface SendingStream {
  readonly id: number;
  readonly sendWindow: SendWindow;
  /** Bytes that wait to be sent. */
  readonly waitingBytes: number;
  /** No more is going to be sent after what waits. */
  readonly ended: boolean;
  /** Headers that come last; undefined where the data is the end. */
  readonly trailers: HeaderBlock | undefined;
  /** Moves the next bytes to be sent to `out`; there are as many. */
  take(out: Uint8Array, from: number, size: number): void;
  /** Everything has been handed to the socket's outbox. */
  sent(): void;
}

/** The streams of a connection that have begun. Each with something to send sends a frame in turn. */
export class DataSender<S extends SendingStream> {
  /** By number. */
  readonly streams = new Map<number, S>();
  /** Those with bytes to send that their window allows. */
  readonly #sending = new Set<S>();
  readonly #window = new SendWindow();
  #frameSize = DEFAULT_FRAME_SIZE;
  #streamWindow = DEFAULT_WINDOW;
  readonly #hpack = new HpackEncoder();
  #dataFrames = 0;

  constructor(private readonly outbox: Outbox) {}

  /** DATA frames sent so far. */
  get dataFrames(): number {
    return this.#dataFrames;
  }

  /** Sets its window to what the peer grants. */
  begin(stream: S): void {
    stream.sendWindow.left = this.#streamWindow;
    this.streams.set(stream.id, stream);
  }

  /** Sends what windows and the socket allow. */
  pump(): void {
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

  /** There is something to be sent on a stream that has begun; {@link pump} looks at it. */
  add(stream: S): void {
    this.#sending.add(stream);
  }

  /** @returns true when the stream had begun. */
  forget(stream: S): boolean {
    this.#sending.delete(stream);
    return this.streams.delete(stream.id);
  }

  /** @throws {ProtocolError} for settings that make a window too large. */
  apply(key: number, value: number): void {
    if (key === Setting.maxFrameSize) this.#frameSize = value;
    else if (key === Setting.headerTableSize) this.#hpack.limit(value);
    else if (key === Setting.initialWindowSize) this.#resizeWindows(value);
  }

  /** @throws {ProtocolError} for a window that becomes too large. */
  growConnection(increment: number): void {
    grow(this.#window, increment);
    this.pump();
  }

  /** @returns false for a window that becomes too large; the stream can't continue then. */
  growStream(stream: S, increment: number): boolean {
    if (!stream.sendWindow.grow(increment)) return false;
    if (stream.waitingBytes === 0) return true;
    this.#sending.add(stream);
    this.pump();
    return true;
  }

  /** Sends headers at once: flow control doesn't count them. */
  sendHeaders(streamId: number, headers: HeaderBlock, options: { end: boolean }): void {
    const block = this.#hpack.encode(headers);
    const end = options.end ? Flag.endStream : 0;
    if (block.length <= this.#frameSize) {
      const to = this.#frame(FrameType.headers, end | Flag.endHeaders, streamId, block.length);
      this.outbox.bytes.set(block, to);
      return;
    }
    for (let at = 0, type: number = FrameType.headers; at < block.length;) {
      const part = block.subarray(at, at + this.#frameSize);
      at += part.length;
      const flags = at === block.length ? Flag.endHeaders : 0;
      const first = type === FrameType.headers ? end : 0;
      const to = this.#frame(type, flags | first, streamId, part.length);
      this.outbox.bytes.set(part, to);
      type = FrameType.continuation;
    }
  }

  #sendData(stream: S, size: number): void {
    const last = size === stream.waitingBytes;
    const ends = last && stream.ended;
    const { trailers } = stream;
    const flags = ends && !trailers ? Flag.endStream : 0;
    // An empty frame says nothing but that the stream ends.
    if (size > 0 || flags) {
      this.#dataFrames++;
      const to = this.#frame(FrameType.data, flags, stream.id, size);
      this.#window.spend(size);
      stream.take(this.outbox.bytes, to, size);
    }
    if (!last) return void this.#sending.add(stream);
    if (!ends) return;
    if (trailers) this.sendHeaders(stream.id, trailers, { end: true });
    stream.sent();
  }

  #frame(type: number, flags: number, streamId: number, length: number): number {
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
