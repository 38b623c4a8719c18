/** Messages of calls as frames of a data channel, and back. Pure. */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type PacketMessage,
  type Request,
  RequestSchema,
  type Response,
  ResponseSchema,
} from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import { MAX_FRAME_BYTES } from "../../rtc/webrtc/channel.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import type { HeldBytes } from "./held_bytes.ts";

/** A frame, as a channel takes it. */
export type Frame = Uint8Array<ArrayBuffer>;

/** What a frame holds next to its piece: 31 bytes with the longest id and every flag set. */
const WRAPPER_BYTES = 32;

/** Longest piece of a message in one frame. */
export const MAX_PIECE_BYTES = MAX_FRAME_BYTES - WRAPPER_BYTES;

type RequestType = NonNullable<MessageInitShape<typeof RequestSchema>["type"]>;
type ResponseType = NonNullable<MessageInitShape<typeof ResponseSchema>["type"]>;

/** A frame of the caller. */
export function requestFrame(id: bigint, type: RequestType): Frame {
  return toBinary(RequestSchema, create(RequestSchema, { stream: { id }, type }));
}

/** A frame of who answers. */
export function responseFrame(id: bigint, type: ResponseType): Frame {
  return toBinary(ResponseSchema, create(ResponseSchema, { stream: { id }, type }));
}

/** A frame of the caller; undefined when the bytes are none or name no call. */
export function readRequest(bytes: Uint8Array): { id: bigint; type: Request["type"] } | undefined {
  return read(bytes, (bytes) => fromBinary(RequestSchema, bytes));
}

/** A frame of who answers; undefined when the bytes are none or name no call. */
export function readResponse(
  bytes: Uint8Array,
): { id: bigint; type: Response["type"] } | undefined {
  return read(bytes, (bytes) => fromBinary(ResponseSchema, bytes));
}

function read<T extends Request | Response>(
  bytes: Uint8Array,
  parse: (bytes: Uint8Array) => T,
): { id: bigint; type: T["type"] } | undefined {
  try {
    const { stream, type } = parse(bytes);
    return stream && { id: stream.id, type };
  } catch {
    return undefined;
  }
}

/**
 * The frames of one request message. The end of the stream stands on the last piece alone: some
 * peers set it on every piece, and all understand it there.
 *
 * @param last the caller sends no further message.
 */
export function* requestMessageFrames(
  id: bigint,
  message: Uint8Array,
  { last }: { last: boolean },
): Generator<Frame> {
  for (const packetMessage of pieces(message)) {
    const eos = last && packetMessage.eom;
    yield requestFrame(id, { case: "message", value: { hasMessage: true, packetMessage, eos } });
  }
}

/** The frame that ends a caller's stream without a further message. */
export function endOfStreamFrame(id: bigint): Frame {
  const value = { hasMessage: false, packetMessage: { eom: true }, eos: true };
  return requestFrame(id, { case: "message", value });
}

/** The frames of one answer. */
export function* responseMessageFrames(id: bigint, message: Uint8Array): Generator<Frame> {
  for (const packetMessage of pieces(message)) {
    yield responseFrame(id, { case: "message", value: { packetMessage } });
  }
}

/** An empty message is one empty piece. */
function* pieces(message: Uint8Array): Generator<{ data: Uint8Array; eom: boolean }> {
  let at = 0;
  do {
    const end = Math.min(at + MAX_PIECE_BYTES, message.length);
    yield { data: message.subarray(at, end), eom: end === message.length };
    at = end;
  } while (at < message.length);
}

const EMPTY = new Uint8Array(0);

/** Puts the pieces of one call's messages together, one message after the other. */
export class MessageAssembler {
  #buffer = EMPTY;
  #length = 0;

  constructor(private readonly held: HeldBytes) {}

  /** True while a message has begun and not ended. */
  get begun(): boolean {
    return this.#length > 0;
  }

  /**
   * The message that is complete with this piece, if one is.
   *
   * @param maxBytes of the message; default: the longest there is.
   * @throws {ConnectError} RESOURCE_EXHAUSTED when the message, or what all calls hold, is too much.
   */
  push(
    { data, eom }: Pick<PacketMessage, "data" | "eom">,
    maxBytes = MAX_MESSAGE_BYTES,
  ): Uint8Array | undefined {
    const length = this.#length + data.length;
    if (length > maxBytes) {
      throw new ConnectError(`a message is larger than ${maxBytes} bytes`, Code.ResourceExhausted);
    }
    if (eom && this.#length === 0) return data;
    this.held.take(data.length);
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(data, this.#length);
    this.#length = length;
    if (!eom) return undefined;
    const message = this.#buffer.subarray(0, length);
    this.clear();
    return message;
  }

  /** Forgets the message that has begun. */
  clear(): void {
    if (this.#length > 0) this.held.give(this.#length);
    this.#buffer = EMPTY;
    this.#length = 0;
  }

  /** Doubled, so that a message of many small pieces isn't copied again with each of them. */
  #grow(length: number): void {
    const grown = new Uint8Array(Math.min(MAX_MESSAGE_BYTES, length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
