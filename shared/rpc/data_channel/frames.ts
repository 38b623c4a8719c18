/** Messages of calls as frames of a data channel, and back. Pure. */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Request,
  type RequestHeaders,
  type RequestMessage,
  RequestSchema,
  type Response,
  type ResponseHeaders,
  ResponseSchema,
  type ResponseTrailers,
} from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import { MAX_FRAME_BYTES } from "../../rtc/webrtc/channel.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import {
  type Frame,
  type Piece,
  plainAnswerFrame,
  plainHeadersFrame,
  readPlainRequest,
  readPlainResponse,
  requestPieceFrame,
  responsePieceFrame,
  successFrame,
} from "./frame_bytes.ts";
import type { HeldBytes } from "./held_bytes.ts";

/** What a frame holds next to its piece: 31 bytes with the longest id and every flag set. */
const WRAPPER_BYTES = 32;

/** Longest piece of a message in one frame. */
export const MAX_PIECE_BYTES = MAX_FRAME_BYTES - WRAPPER_BYTES;

/** What a frame of the caller has in it. */
export type RequestContent =
  | {
    readonly case: "headers";
    readonly value: Pick<RequestHeaders, "method" | "metadata" | "timeout">;
  }
  | { readonly case: "message"; readonly value: RequestPiece }
  | { readonly case: "rstStream"; readonly value: boolean }
  | { readonly case: undefined };

/** A piece of a request, or the end of all of them. */
export interface RequestPiece extends Pick<RequestMessage, "hasMessage" | "eos"> {
  readonly packetMessage?: Piece | undefined;
}

/** What a frame of who answers has in it. */
export type ResponseContent =
  | { readonly case: "headers"; readonly value: Pick<ResponseHeaders, "metadata"> }
  | { readonly case: "message"; readonly value: { readonly packetMessage?: Piece | undefined } }
  | { readonly case: "trailers"; readonly value: Pick<ResponseTrailers, "status" | "metadata"> }
  | { readonly case: undefined };

const EMPTY_HEADERS: ResponseContent = { case: "headers", value: {} };
const SUCCESS: ResponseContent = { case: "trailers", value: {} };

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

/** The headers of a call without metadata and limit. */
export function headersFrame(id: bigint, method: string): Frame {
  return plainHeadersFrame(id, method) ??
    requestFrame(id, { case: "headers", value: { method } });
}

/** The headers of an answer, without metadata. */
export function answerFrame(id: bigint): Frame {
  return plainAnswerFrame(id) ?? responseFrame(id, { case: "headers", value: {} });
}

/** The end of a call that succeeded, without metadata. */
export function endFrame(id: bigint): Frame {
  return successFrame(id) ?? responseFrame(id, { case: "trailers", value: { status: {} } });
}

/** A frame of the caller; undefined when the bytes are none or name no call. */
export function readRequest(bytes: Uint8Array): { id: bigint; type: RequestContent } | undefined {
  const plain = readPlainRequest(bytes);
  if (!plain) return read(bytes, (bytes) => fromBinary(RequestSchema, bytes));
  const { id } = plain;
  if (plain.kind === "headers") {
    return { id, type: { case: "headers", value: { method: plain.method } } };
  }
  const value = { hasMessage: true, packetMessage: plain, eos: plain.eos };
  return { id, type: { case: "message", value } };
}

/** A frame of who answers; undefined when the bytes are none or name no call. */
export function readResponse(
  bytes: Uint8Array,
): { id: bigint; type: ResponseContent } | undefined {
  const plain = readPlainResponse(bytes);
  switch (plain?.kind) {
    case "headers":
      return { id: plain.id, type: EMPTY_HEADERS };
    case "message":
      return { id: plain.id, type: { case: "message", value: { packetMessage: plain } } };
    case "success":
      return { id: plain.id, type: SUCCESS };
  }
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
export function requestMessageFrames(
  id: bigint,
  message: Uint8Array,
  { last }: { last: boolean },
): Iterable<Frame> {
  return framesOf(message, (packetMessage) => {
    const eos = last && packetMessage.eom;
    return requestPieceFrame(id, packetMessage, eos) ??
      requestFrame(id, { case: "message", value: { hasMessage: true, packetMessage, eos } });
  });
}

/** The frame that ends a caller's stream without a further message. */
export function endOfStreamFrame(id: bigint): Frame {
  const value = { hasMessage: false, packetMessage: { eom: true }, eos: true };
  return requestFrame(id, { case: "message", value });
}

/** The frames of one answer. */
export function responseMessageFrames(id: bigint, message: Uint8Array): Iterable<Frame> {
  return framesOf(message, (packetMessage) =>
    responsePieceFrame(id, packetMessage) ??
      responseFrame(id, { case: "message", value: { packetMessage } }));
}

/** An empty message is one empty piece; those of a long one are made when there is room for them. */
function framesOf(message: Uint8Array, write: (piece: Piece) => Frame): Iterable<Frame> {
  return message.length <= MAX_PIECE_BYTES
    ? [write({ data: message, eom: true })]
    : framesOfLong(message, write);
}

function* framesOfLong(message: Uint8Array, write: (piece: Piece) => Frame): Generator<Frame> {
  for (let at = 0; at < message.length; at += MAX_PIECE_BYTES) {
    const end = Math.min(at + MAX_PIECE_BYTES, message.length);
    yield write({ data: message.subarray(at, end), eom: end === message.length });
  }
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
    { data, eom }: Piece,
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
