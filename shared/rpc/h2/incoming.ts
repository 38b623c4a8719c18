/** Makes events of what the peer sends; what is against the protocol throws. */
import type { HeaderList } from "./fields.ts";
import {
  badSize,
  decodeGoaway,
  decodeNumber,
  decodeSettings,
  ErrorCode,
  Flag,
  FrameCutter,
  FrameType,
  type Goaway,
  MAX_31_BITS,
  ProtocolError,
  readUint32,
  unpadded,
} from "./frames.ts";
import { HpackDecoder, MAX_HEADER_BYTES } from "./hpack.ts";

/** What came in. Bytes are only valid until the receiver returns. */
export interface IncomingEvents {
  /** A frame that carries nothing of a message: reported before what it is. */
  overhead(): void;
  /** @param size what flow control counts: with the padding. */
  data(streamId: number, bytes: Uint8Array, size: number, end: boolean): void;
  /**
   * @param headers undefined when they are too large.
   * @param kinds bits (`FieldKind`) of all fields.
   */
  headers(streamId: number, headers: HeaderList | undefined, end: boolean, kinds: number): void;
  reset(streamId: number, code: number): void;
  settings(settings: readonly (readonly [key: number, value: number])[]): void;
  ping(payload: Uint8Array): void;
  goaway(goaway: Goaway): void;
  /** @param streamId 0: the whole connection. */
  windowUpdate(streamId: number, increment: number): void;
}

/** Frames of one connection, checked as far as that goes without knowing its streams. */
export class Incoming {
  readonly #cutter = new FrameCutter((...frame) => this.#frame(...frame));
  readonly #hpack = new HpackDecoder();
  #begun = false;
  /** Headers that continue in the next frame, as long as there is nothing else in between. */
  #headers: { streamId: number; end: boolean; parts: Uint8Array[]; size: number } | undefined;

  constructor(private readonly events: IncomingEvents) {}

  /**
   * @param goOn asked after each frame; false: the rest of the chunk is left to the caller.
   * @returns how much of the chunk was taken.
   * @throws {ProtocolError} when the connection can't continue.
   */
  push(chunk: Uint8Array, goOn?: () => boolean): number {
    return this.#cutter.push(chunk, goOn);
  }

  #frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    if (!this.#begun) {
      if (type !== FrameType.settings || flags & Flag.ack) {
        throw violation("it does not begin with SETTINGS");
      }
      this.#begun = true;
    }
    if (this.#headers && type !== FrameType.continuation) {
      throw violation("the header block is not continued");
    }
    if (type !== FrameType.data && type !== FrameType.headers) this.events.overhead();
    switch (type) {
      case FrameType.data: {
        onStream(streamId, "DATA");
        const bytes = unpadded(type, flags, payload);
        return this.events.data(streamId, bytes, payload.length, (flags & Flag.endStream) !== 0);
      }
      case FrameType.headers:
        return this.#headersFrame(flags, streamId, payload);
      case FrameType.continuation:
        return this.#continuation(flags, streamId, payload);
      case FrameType.priority:
        onStream(streamId, "PRIORITY");
        if (payload.length !== 5) throw badSize("PRIORITY", payload.length);
        return onAnother(streamId, payload, 0);
      case FrameType.rstStream:
        onStream(streamId, "RST_STREAM");
        return this.events.reset(streamId, decodeNumber(payload, "RST_STREAM"));
      case FrameType.settings:
        onConnection(streamId, "SETTINGS");
        if (!(flags & Flag.ack)) return this.events.settings(decodeSettings(payload));
        if (payload.length > 0) throw badSize("SETTINGS", payload.length);
        return;
      case FrameType.pushPromise:
        throw violation("it pushes, although push is disabled");
      case FrameType.ping:
        onConnection(streamId, "PING");
        if (payload.length !== 8) throw badSize("PING", payload.length);
        if (!(flags & Flag.ack)) this.events.ping(payload);
        return;
      case FrameType.goaway:
        onConnection(streamId, "GOAWAY");
        return this.events.goaway(decodeGoaway(payload));
      case FrameType.windowUpdate: {
        const increment = decodeNumber(payload, "WINDOW_UPDATE") & MAX_31_BITS;
        if (increment === 0) throw violation("a window grows by nothing");
        return this.events.windowUpdate(streamId, increment);
      }
    }
  }

  #headersFrame(flags: number, streamId: number, payload: Uint8Array): void {
    onStream(streamId, "HEADERS");
    const block = unpadded(FrameType.headers, flags, payload);
    const end = (flags & Flag.endStream) !== 0;
    if (flags & Flag.priority) onAnother(streamId, payload, flags & Flag.padded ? 1 : 0);
    if (flags & Flag.endHeaders) return this.#headersComplete(streamId, block, end);
    this.#headers = { streamId, end, parts: [block.slice()], size: block.length };
  }

  #continuation(flags: number, streamId: number, payload: Uint8Array): void {
    const begun = this.#headers;
    if (begun?.streamId !== streamId) throw violation("a CONTINUATION of nothing");
    begun.parts.push(payload.slice());
    begun.size += payload.length;
    if (begun.size > MAX_HEADER_BYTES || begun.parts.length > MAX_PARTS) {
      throw new ProtocolError(
        ErrorCode.enhanceYourCalm,
        `headers of more than ${MAX_HEADER_BYTES} bytes or ${MAX_PARTS} frames`,
      );
    }
    if (!(flags & Flag.endHeaders)) return;
    this.#headers = undefined;
    const block = new Uint8Array(begun.size);
    let at = 0;
    for (const part of begun.parts) {
      block.set(part, at);
      at += part.length;
    }
    this.#headersComplete(streamId, block, begun.end);
  }

  #headersComplete(streamId: number, block: Uint8Array, end: boolean): void {
    const headers = this.#hpack.decode(block);
    this.events.headers(streamId, headers, end, this.#hpack.kinds);
  }
}

/** Empty frames would never reach the bound of bytes. */
const MAX_PARTS = 64;

function onStream(streamId: number, frame: string): void {
  if (streamId === 0) throw violation(`a ${frame} frame without a stream`);
}

function onConnection(streamId: number, frame: string): void {
  if (streamId !== 0) throw violation(`a ${frame} frame on a stream`);
}

/** Priorities mean nothing here, but one of them is forbidden. @param at where it is written. */
function onAnother(streamId: number, payload: Uint8Array, at: number): void {
  if ((readUint32(payload, at) & MAX_31_BITS) === streamId) {
    throw violation(`stream ${streamId} depends on itself`);
  }
}

function violation(what: string): ProtocolError {
  return new ProtocolError(ErrorCode.protocolError, what);
}
