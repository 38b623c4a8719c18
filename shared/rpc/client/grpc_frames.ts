/** gRPC on HTTP/2 as bytes and headers: frames of messages, deadlines, status. Pure. */
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import { releaseBuffer } from "../../base/memory/release_buffer.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import type { HeaderList } from "../h2/fields.ts";
import type { OutgoingCall } from "./call_channel.ts";
import { addDetails, DETAILS } from "./grpc_status.ts";
import { ErrorCode } from "../h2/frames.ts";
import { MAX_HEADER_BYTES } from "../h2/hpack.ts";
import { type HeaderBlock, HeaderField } from "../h2/hpack_encoder.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";

/** Flag and length in front of a message. */
const PREFIX_BYTES = 5;
/** Bytes of a message that room is made for at least, where it has as many. */
const SMALLEST_PIECE = 512;
/** Largest timeout in milliseconds that the header can hold: 8 digits. */
const LONGEST_TIMEOUT_MS = 99_999_999;
/** Paths whose headers are kept; no server here has as many methods. */
const KEPT_PATHS = 1_000;

/** Of path and metadata, counted as a peer counts headers; the rest is for {@link RequestHeaders}. */
const LONGEST_METADATA = MAX_HEADER_BYTES - 1_024;
/** What a peer adds for each field: RFC 7541, 4.1. */
const FIELD_OVERHEAD = 32;

const METHOD = new HeaderField(":method", "POST", 3);
const HTTP = new HeaderField(":scheme", "http", 6);
const HTTPS = new HeaderField(":scheme", "https", 7);
const CONTENT_TYPE = new HeaderField("content-type", "application/grpc");
const TE = new HeaderField("te", "trailers");

/** The headers that begin calls to one address. */
export class RequestHeaders {
  readonly #ofPath = new Map<string, readonly HeaderField[]>();
  readonly #authority: HeaderField;

  /**
   * @param authority `host:port`.
   * @param isTls whether the connections are encrypted.
   */
  constructor(authority: string, private readonly isTls = false) {
    this.#authority = new HeaderField(":authority", authority);
  }

  /**
   * @throws {ConnectError} RESOURCE_EXHAUSTED when a peer would take the metadata for an attack, and
   * end all calls of the connection.
   */
  of({ path, metadata, timeoutMs }: OutgoingCall): HeaderBlock {
    const others: string[] = [];
    if (timeoutMs !== undefined) {
      others.push("grpc-timeout", `${Math.min(LONGEST_TIMEOUT_MS, Math.ceil(timeoutMs))}m`);
    }
    const headers = metadata.toHttp2Headers();
    for (const key in headers) {
      const value = headers[key];
      if (Array.isArray(value)) { for (const one of value) others.push(key, one); }
      else if (value !== undefined) others.push(key, String(value));
    }
    let bytes = path.length + others.length / 2 * FIELD_OVERHEAD;
    for (const text of others) bytes += text.length;
    if (bytes > LONGEST_METADATA) {
      throw new ConnectError("the metadata of the call is too long", Code.ResourceExhausted);
    }
    return { repeated: this.#repeated(path), others };
  }

  #repeated(path: string): readonly HeaderField[] {
    const known = this.#ofPath.get(path);
    if (known) return known;
    const scheme = this.isTls ? HTTPS : HTTP;
    const fields = [METHOD, scheme, new HeaderField(":path", path), this.#authority];
    fields.push(CONTENT_TYPE, TE);
    if (this.#ofPath.size >= KEPT_PATHS) this.#ofPath.clear();
    this.#ofPath.set(path, fields);
    return fields;
  }
}

/** A message with its prefix. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

export interface MessageCutterOptions {
  /** What it is cut from, for errors. Default: an answer. */
  readonly what?: "answer" | "request";
  /** Longest message, as it arrives. Default: {@link MAX_MESSAGE_BYTES}. */
  readonly maxBytes?: number;
  /** Notified of messages that are compressed. Default: they are refused. */
  readonly onCompressed?: ((message: Uint8Array) => void) | undefined;
}

/** Cuts what arrives into messages. */
export class MessageCutter {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixBytes = 0;
  /** Bytes that the message begun has in all, and the pieces of it that are here. */
  #length = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;
  /** Bytes that the last piece has room for. */
  #room = 0;

  readonly #what: string;
  readonly #maxBytes: number;
  readonly #onCompressed: ((message: Uint8Array) => void) | undefined;

  constructor(options: MessageCutterOptions = {}) {
    this.#what = options.what ?? "answer";
    this.#maxBytes = options.maxBytes ?? MAX_MESSAGE_BYTES;
    this.#onCompressed = options.onCompressed;
  }

  /** True while a message is only partly here. */
  get isInside(): boolean {
    return this.#prefixBytes > 0;
  }

  /**
   * Adds the messages that are complete with this chunk to `messages`. The chunk is copied.
   *
   * @throws {ConnectError} for messages that are too large or compressed.
   */
  push(chunk: Uint8Array, messages: Uint8Array[]): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#prefixBytes < PREFIX_BYTES) {
        this.#prefix[this.#prefixBytes++] = chunk[at++]!;
        if (this.#prefixBytes < PREFIX_BYTES) continue;
        this.#begin();
      }
      const taken = Math.min(this.#length - this.#partBytes, chunk.length - at);
      if (taken > 0) {
        this.#add(chunk, at, taken);
        at += taken;
      }
      if (this.#partBytes === this.#length) messages.push(this.#complete());
    }
  }

  /** Forgets the message that is only partly here; takes nothing after it. */
  clear(): void {
    this.#parts = [];
    this.#partBytes = 0;
    this.#room = 0;
  }

  #begin(): void {
    this.#length = this.#prefix.readUInt32BE(1);
    if (this.#length > this.#maxBytes) {
      throw new ConnectError(
        `the ${this.#what} is larger than ${this.#maxBytes} bytes`,
        Code.ResourceExhausted,
      );
    }
    if (this.#prefix[0] === 0 || (this.#prefix[0] === 1 && this.#onCompressed)) return;
    throw new ConnectError(`the ${this.#what} is compressed`, Code.Internal);
  }

  /** Pieces grow with the message: it may come in single bytes, and may never come. */
  #add(chunk: Uint8Array, from: number, bytes: number): void {
    const fitting = Math.min(bytes, this.#room);
    if (fitting > 0 && fitting < bytes) {
      this.#add(chunk, from, fitting);
      return this.#add(chunk, from + fitting, bytes - fitting);
    }
    if (fitting === 0) {
      const wanted = Math.max(bytes, this.#partBytes, SMALLEST_PIECE);
      this.#room = Math.min(this.#length - this.#partBytes, wanted);
      this.#parts.push(Buffer.allocUnsafe(this.#room));
    }
    const part = this.#parts.at(-1)!;
    part.set(chunk.subarray(from, from + bytes), part.length - this.#room);
    this.#room -= bytes;
    this.#partBytes += bytes;
  }

  #complete(): Uint8Array {
    const [only] = this.#parts;
    const message = this.#parts.length === 1 ? only! : Buffer.concat(this.#parts);
    if (message !== only) { for (const part of this.#parts) releaseBuffer(part); }
    this.#parts = [];
    this.#partBytes = 0;
    this.#prefixBytes = 0;
    if (this.#prefix[0] !== 0) this.#onCompressed?.(message);
    return message;
  }
}

/** Milliseconds of a letter in `grpc-timeout`. */
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Milliseconds that the header `grpc-timeout` allows; undefined without a limit. */
export function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined || text.length < 2 || text.length > 9) return undefined;
  const unitMs = UNIT_MS[text[text.length - 1]!];
  const digits = text.slice(0, -1);
  return unitMs === undefined || !/^\d+$/.test(digits) ? undefined : Number(digits) * unitMs;
}

/** The value of a header; undefined where it isn't there. */
export function headerValue(headers: HeaderList | undefined, name: string): string | undefined {
  if (!headers) return undefined;
  for (let n = 0; n < headers.length; n += 2) if (headers[n] === name) return headers[n + 1];
}

/** The error that trailers report; undefined when the call succeeded. */
export function statusError(trailers: HeaderList): ConnectError | undefined {
  const code = Number(headerValue(trailers, "grpc-status"));
  if (code === 0) return undefined;
  const text = decoded(headerValue(trailers, "grpc-message") ?? "");
  const known = Code[code] === undefined ? Code.Unknown : code;
  const error = new ConnectError(text, known, answerHeaders(trailers));
  const details = headerValue(trailers, DETAILS);
  if (details === undefined) return error;
  try {
    addDetails(error, fromBinary(StatusSchema, Buffer.from(details, "base64")));
  } catch {
    // They are no message; code and text say enough.
  }
  return error;
}

/** What it means for a call that the peer ended its stream with this code of HTTP/2. */
export function codeOfReset(code: number): Code {
  // https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Errors"
  switch (code) {
    case ErrorCode.refusedStream:
      return Code.Unavailable;
    case ErrorCode.cancel:
      return Code.Canceled;
    case ErrorCode.enhanceYourCalm:
      return Code.ResourceExhausted;
    case ErrorCode.inadequateSecurity:
      return Code.PermissionDenied;
    default:
      return Code.Internal;
  }
}

/** Texts travel percent-encoded; what isn't so is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Metadata of an answer as `Headers`. */
export function answerHeaders(headers: HeaderList | undefined): Headers {
  const result = new Headers();
  for (let n = 0; headers && n < headers.length; n += 2) {
    const key = headers[n]!;
    if (key.startsWith(":") || key === "grpc-status" || key === "grpc-message") continue;
    result.append(key, headers[n + 1]!);
  }
  return result;
}
