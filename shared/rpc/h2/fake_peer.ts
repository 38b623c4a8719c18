/** The server's end of an HTTP/2 connection, as tests play it. */
import type { HeaderList } from "./fields.ts";
import {
  encodeFrame,
  encodeSettings,
  Flag,
  FrameCutter,
  FrameType,
  MAX_31_BITS,
  PREFACE,
  type Setting,
} from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import type { ByteSocket } from "./socket.ts";
import type { StreamFailure, StreamReceiver } from "./stream.ts";
import { until } from "./wait_testing.ts";

/** A frame that the client sent. */
export interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Uint8Array;
}

export const ANSWER_HEADERS: HeaderList = [":status", "200", "content-type", "application/grpc"];

/** Of those that the client sends: as much as any settings here allow it. */
const LARGEST_FRAME = 65_536;

export class FakePeer implements ByteSocket {
  readonly seen: SeenFrame[] = [];
  /** Calls of `write`. */
  writes = 0;
  closed = false;
  /** Set: writes wait for it. */
  stalled: Promise<void> | undefined;
  readonly #cutter = new FrameCutter(
    (type, flags, streamId, payload) =>
      this.seen.push({ type, flags, streamId, payload: payload.slice() }),
    LARGEST_FRAME,
  );
  readonly #toRead: Uint8Array[] = [];
  #prefaceLeft = PREFACE.length;
  #readable = Promise.withResolvers<void>();
  #ended = false;

  async read(into: Uint8Array): Promise<number | null> {
    for (;;) {
      if (this.closed) throw new Error("the socket is closed");
      const next = this.#toRead.shift();
      if (next) {
        into.set(next.subarray(0, into.length));
        if (next.length > into.length) this.#toRead.unshift(next.subarray(into.length));
        return Math.min(next.length, into.length);
      }
      if (this.#ended) return null;
      await this.#readable.promise;
      this.#readable = Promise.withResolvers();
    }
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.writes++;
    // Not all at once: sockets do so too.
    const taken = bytes.slice(0, Math.max(1, bytes.length - 1));
    await this.stalled;
    if (this.closed) throw new Error("the socket is closed");
    const preface = Math.min(this.#prefaceLeft, taken.length);
    this.#prefaceLeft -= preface;
    this.#cutter.push(taken.subarray(preface));
    return taken.length;
  }

  close(): void {
    this.closed = true;
    this.#readable.resolve();
  }

  /** Says something to the client. */
  send(...frames: Uint8Array[]): void {
    this.#toRead.push(...frames.filter(({ length }) => length > 0));
    this.#readable.resolve();
  }

  /** Ends the connection. */
  end(): void {
    this.#ended = true;
    this.#readable.resolve();
  }

  settings(...settings: (readonly [typeof Setting[keyof typeof Setting], number])[]): void {
    this.send(encodeSettings(settings));
  }

  headers(streamId: number, headers: HeaderList = ANSWER_HEADERS, flags = 0): void {
    const block = encodeHeaders(headers);
    this.send(encodeFrame(FrameType.headers, Flag.endHeaders | flags, streamId, block));
  }

  data(streamId: number, bytes: Uint8Array, flags = 0): void {
    this.send(encodeFrame(FrameType.data, flags, streamId, bytes));
  }

  /** A whole answer: headers, the bytes, trailers. */
  answer(streamId: number, bytes = Uint8Array.of(1)): void {
    this.headers(streamId);
    this.data(streamId, bytes);
    this.headers(streamId, ["grpc-status", "0"], Flag.endStream);
  }

  frames(type: number, streamId?: number): SeenFrame[] {
    return this.seen.filter((frame) =>
      frame.type === type && (streamId === undefined || frame.streamId === streamId)
    );
  }

  /** Bytes of a request's body so far. */
  received(streamId: number): number {
    return this.frames(FrameType.data, streamId).reduce(
      (sum, { payload }) => sum + payload.length,
      0,
    );
  }

  /** Waits for what the client does. */
  until(condition: () => boolean, what: string): Promise<void> {
    return until(condition, what);
  }

  async untilFrames(type: number, count: number): Promise<SeenFrame[]> {
    await this.until(() => this.frames(type).length >= count, `${count} frames of type ${type}`);
    return this.frames(type);
  }
}

/** Keeps what a stream brought. */
export class SeenAnswer implements StreamReceiver {
  readonly headerLists: HeaderList[] = [];
  bytes = 0;
  /** Undefined while the stream is open. */
  outcome: { failure: StreamFailure | undefined } | undefined;
  closings = 0;
  readonly #over = Promise.withResolvers<StreamFailure | undefined>();

  headers(headers: HeaderList): void {
    this.headerLists.push(headers);
  }
  data(bytes: Uint8Array): void {
    this.bytes += bytes.length;
  }
  closed(failure: StreamFailure | undefined): void {
    this.closings++;
    this.outcome ??= { failure };
    this.#over.resolve(failure);
  }
  /** Why it failed; undefined when it didn't. */
  over(): Promise<StreamFailure | undefined> {
    return this.#over.promise;
  }
}

/** The last stream that any peer could have taken up. */
export const ALL_STREAMS = MAX_31_BITS;
