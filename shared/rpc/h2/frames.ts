/** HTTP/2 frames (RFC 9113) to bytes and back. Pure: no sockets, no streams. */
import { SpareBuffers } from "./spare_buffers.ts";

/** Bytes in front of the payload of every frame. */
export const FRAME_HEADER_BYTES = 9;
/** Largest payload that a peer may send without having been allowed more. */
export const DEFAULT_FRAME_SIZE = 16_384;
/** Largest window and largest stream number: 31 bits. */
export const MAX_31_BITS = 0x7fff_ffff;

/** What a client sends before its first frame. */
export const PREFACE: Uint8Array = Uint8Array.from(
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  (character) => character.charCodeAt(0),
);

/** RFC 9113, section 6. Frames of other types are ignored. */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** The same bit means ACK on SETTINGS and PING, END_STREAM on DATA and HEADERS. */
export const Flag = {
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

/** RFC 9113, section 6.5.2. */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** RFC 9113, section 7. */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  connectError: 10,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const;

/** The peer broke the protocol, so that nothing on this connection can be relied on. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** @param code one of {@link ErrorCode}, for the GOAWAY to the peer. */
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** A frame that came in. `payload` is only valid until the receiver returns. */
export type FrameReceiver = (
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array,
) => void;

/** Writes the header of a frame at `at`. */
export function writeFrameHeader(
  out: Uint8Array,
  at: number,
  frame: { length: number; type: number; flags: number; streamId: number },
): void {
  const { length, streamId } = frame;
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = frame.type;
  out[at + 4] = frame.flags;
  writeUint32(out, at + 5, streamId);
}

/** A whole frame, for those that are sent rarely. */
export function encodeFrame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const frame = new Uint8Array(FRAME_HEADER_BYTES + payload.length);
  writeFrameHeader(frame, 0, { length: payload.length, type, flags, streamId });
  frame.set(payload, FRAME_HEADER_BYTES);
  return frame;
}

/** A frame whose payload is one number: RST_STREAM with its reason, WINDOW_UPDATE with its bytes. */
export function encodeNumberFrame(type: number, streamId: number, value: number): Uint8Array {
  const payload = new Uint8Array(4);
  writeUint32(payload, 0, value);
  return encodeFrame(type, 0, streamId, payload);
}

/** @param settings pairs of a {@link Setting} and its value. */
export function encodeSettings(settings: readonly (readonly [number, number])[]): Uint8Array {
  const payload = new Uint8Array(6 * settings.length);
  settings.forEach(([key, value], n) => {
    payload[6 * n] = key >>> 8;
    payload[6 * n + 1] = key;
    writeUint32(payload, 6 * n + 2, value);
  });
  return encodeFrame(FrameType.settings, 0, 0, payload);
}

/** Settings in one frame; the protocol has six, its extensions a few more. */
const MOST_SETTINGS = 64;

/** @throws {ProtocolError} for a payload that is no list of settings, or values out of range. */
export function decodeSettings(payload: Uint8Array): [key: number, value: number][] {
  if (payload.length % 6 !== 0) throw badSize("SETTINGS", payload.length);
  // A window that changes is one to change of every stream.
  if (payload.length > 6 * MOST_SETTINGS) {
    throw new ProtocolError(ErrorCode.enhanceYourCalm, `more than ${MOST_SETTINGS} settings`);
  }
  const settings: [number, number][] = [];
  for (let at = 0; at < payload.length; at += 6) {
    const key = payload[at]! << 8 | payload[at + 1]!;
    const value = readUint32(payload, at + 2);
    if (key === Setting.initialWindowSize && value > MAX_31_BITS) {
      throw new ProtocolError(
        ErrorCode.flowControlError,
        `a window of ${value} bytes is too large`,
      );
    }
    if (key === Setting.enablePush && value > 1) {
      throw new ProtocolError(ErrorCode.protocolError, `${value} does not say whether to push`);
    }
    if (key === Setting.maxFrameSize && (value < DEFAULT_FRAME_SIZE || value > 0xff_ffff)) {
      throw new ProtocolError(ErrorCode.protocolError, `${value} is no size for frames`);
    }
    settings.push([key, value]);
  }
  return settings;
}

/** The last stream number that the sender has taken up, and why it leaves. */
export interface Goaway {
  readonly lastStreamId: number;
  readonly code: number;
  /** What it says for people; empty where it says nothing. */
  readonly text: string;
}

export function encodeGoaway({ lastStreamId, code, text }: Goaway): Uint8Array {
  const said = new TextEncoder().encode(text);
  const payload = new Uint8Array(8 + said.length);
  writeUint32(payload, 0, lastStreamId);
  writeUint32(payload, 4, code);
  payload.set(said, 8);
  return encodeFrame(FrameType.goaway, 0, 0, payload);
}

/** @throws {ProtocolError} for a payload that is too short. */
export function decodeGoaway(payload: Uint8Array): Goaway {
  if (payload.length < 8) throw badSize("GOAWAY", payload.length);
  return {
    lastStreamId: readUint32(payload, 0) & MAX_31_BITS,
    code: readUint32(payload, 4),
    text: new TextDecoder().decode(payload.subarray(8, 8 + 200)),
  };
}

/**
 * The one number of an RST_STREAM or WINDOW_UPDATE frame.
 *
 * @throws {ProtocolError} for a payload of another size.
 */
export function decodeNumber(payload: Uint8Array, frame: string): number {
  if (payload.length !== 4) throw badSize(frame, payload.length);
  return readUint32(payload, 0);
}

/**
 * The payload of a DATA or HEADERS frame without padding and priority.
 *
 * @throws {ProtocolError} when there is more padding than payload.
 */
export function unpadded(type: number, flags: number, payload: Uint8Array): Uint8Array {
  let from = 0;
  let to = payload.length;
  if (flags & Flag.padded) {
    from = 1;
    to -= payload[0] ?? 0;
  }
  if (type === FrameType.headers && flags & Flag.priority) from += 5;
  if (from > to) {
    throw new ProtocolError(ErrorCode.protocolError, "a frame has more padding than payload");
  }
  return from === 0 && to === payload.length ? payload : payload.subarray(from, to);
}

export function badSize(frame: string, size: number): ProtocolError {
  return new ProtocolError(ErrorCode.frameSizeError, `a ${frame} frame of ${size} bytes`);
}

const always = () => true;
const NOTHING = new Uint8Array();
/** For incomplete frames. Most connections have none most of the time. */
const spare = new SpareBuffers(FRAME_HEADER_BYTES + DEFAULT_FRAME_SIZE);

/** Cuts what arrives into frames; keeps one that is incomplete until the rest is there. */
export class FrameCutter {
  /** Empty while nothing is kept. */
  #partial: Uint8Array = NOTHING;
  #kept = 0;

  /** @param largest bytes of payload that the sender may put into a frame. */
  constructor(
    private readonly receive: FrameReceiver,
    private readonly largest: number = DEFAULT_FRAME_SIZE,
  ) {}

  /**
   * @param goOn asked after each frame; false: the rest of the chunk is left to the caller.
   * @returns how much of the chunk was taken.
   * @throws {ProtocolError} for a frame that is larger than allowed.
   */
  push(chunk: Uint8Array, goOn: () => boolean = always): number {
    let at = 0;
    if (this.#kept > 0) {
      at = this.#complete(chunk);
      if (!goOn()) return at;
    }
    while (chunk.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + this.#payloadLength(chunk, at);
      if (end > chunk.length) break;
      this.#emit(chunk, at, end);
      at = end;
      if (!goOn()) return at;
    }
    if (at < chunk.length) {
      this.#partial = spare.take(FRAME_HEADER_BYTES + this.largest);
      this.#partial.set(chunk.subarray(at));
      this.#kept = chunk.length - at;
    }
    return chunk.length;
  }

  /** Adds to the incomplete frame; says how much of the chunk it took. */
  #complete(chunk: Uint8Array): number {
    let at = this.#fill(chunk, 0, FRAME_HEADER_BYTES);
    if (this.#kept < FRAME_HEADER_BYTES) return at;
    const end = FRAME_HEADER_BYTES + this.#payloadLength(this.#partial, 0);
    at = this.#fill(chunk, at, end);
    if (this.#kept < end) return at;
    const whole = this.#partial;
    this.#partial = NOTHING;
    this.#kept = 0;
    this.#emit(whole, 0, end);
    spare.giveBack(whole);
    return at;
  }

  #fill(chunk: Uint8Array, at: number, wanted: number): number {
    const take = Math.min(Math.max(0, wanted - this.#kept), chunk.length - at);
    this.#partial.set(chunk.subarray(at, at + take), this.#kept);
    this.#kept += take;
    return at + take;
  }

  #emit(bytes: Uint8Array, at: number, end: number): void {
    const streamId = readUint32(bytes, at + 5) & MAX_31_BITS;
    const payload = bytes.subarray(at + FRAME_HEADER_BYTES, end);
    this.receive(bytes[at + 3]!, bytes[at + 4]!, streamId, payload);
  }

  #payloadLength(bytes: Uint8Array, at: number): number {
    const length = bytes[at]! << 16 | bytes[at + 1]! << 8 | bytes[at + 2]!;
    if (length > this.largest) {
      throw new ProtocolError(ErrorCode.frameSizeError, `a frame of ${length} bytes`);
    }
    return length;
  }
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24 | bytes[at + 1]! << 16 | bytes[at + 2]! << 8 | bytes[at + 3]!) >>> 0;
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
