/** Calls that are passed on to another server as the bytes they came in. */
import type { DescMethod } from "@bufbuild/protobuf";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  type Transport,
} from "@connectrpc/connect";
import type { OutgoingHttpHeaders } from "node:http2";
import type { ByteSocket } from "../h2/socket.ts";
import type { CallChannel, CancelSignal, OutgoingCall } from "./call_channel.ts";
import { transportOver } from "./transport_over.ts";
import { Http2Channel } from "./http2_channel.ts";

/** Metadata that interceptors want to go along where a call is passed on, over that of the caller. */
export const passedOnKey: ContextKey<Readonly<Record<string, string>> | undefined> =
  createContextKey<Readonly<Record<string, string>> | undefined>(undefined, {
    description: "metadata for where the call is passed on",
  });

/** The part of a call that matters when it is passed on. */
export interface ForwardedCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly method: DescMethod;
  /** What interceptors left. */
  readonly values: ContextValues;
  /** Headers of the answer. */
  readonly responseHeader: Headers;
  /** Aborts when the caller leaves or the server gives the call up. */
  readonly cancelSignal: CancelSignal;
  /** Milliseconds that are left; undefined without a limit. */
  timeoutMs(): number | undefined;
  /** What of the caller's metadata goes along: all but what belongs to its connection and sign-in. */
  forwardedHeaders(): OutgoingHttpHeaders;
}

/** Answers calls without anybody having decoded them. */
export interface ByteHandler {
  /** Answers a call with one request and one response. */
  unary(call: ForwardedCall, request: Uint8Array): Promise<Uint8Array>;
  /** Answers every other kind of call. */
  stream(call: ForwardedCall, requests: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** A connection to a server that takes forwarded calls. */
export interface ForwardChannel extends ByteHandler {
  /** The same connection for calls of this process's own. */
  readonly transport: Transport;
  close(): void;
}

/** Servers allow 100 streams on a connection, or more; calls beyond take another connection. */
const MOST_IN_FLIGHT = 90;

export interface ForwardChannelOptions {
  /** `unix:/path`, or `http://host:port`; with `open` also `https://host:port`. */
  readonly address: string;
  /** Opens its connections. Default: plaintext to `address`. */
  readonly open?: () => Promise<ByteSocket>;
  /** Metadata of every call, over that of the caller. Default: none. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

/** Opens a channel to another server; it connects when first used. */
export function openForwardChannel(
  { address, open, headers }: ForwardChannelOptions,
): ForwardChannel {
  const channels: Http2Channel[] = [];
  const withRoom = (): Http2Channel => {
    const found = channels.find(({ inFlight }) => inFlight < MOST_IN_FLIGHT);
    if (found) return found;
    const added = new Http2Channel(address, open);
    channels.push(added);
    return added;
  };
  // Streams stay open for long; they must not take the places of calls.
  const streams = new Http2Channel(address, open);
  return {
    // What another machine or a module answers must not stop this process.
    transport: transportOver(streams, {
      fewValues: true,
      interceptors: headers && [(next) => (request) => {
        for (const [key, value] of Object.entries(headers())) request.header.set(key, value);
        return next(request);
      }],
    }),
    unary: (call, request) => withRoom().call(outgoing(call, headers), request),
    async *stream(call, requests) {
      yield* (await streams.stream(outgoing(call, headers), requests)).messages;
    },
    close() {
      for (const channel of [streams, ...channels]) channel.close();
    },
  };
}

/** A channel to a server over a connection that takes any number of calls, and ends with it. */
export function forwardChannelOver(calls: CallChannel): ForwardChannel {
  return {
    transport: transportOver(calls, { fewValues: true }),
    unary: (call, request) => calls.call(outgoing(call), request),
    async *stream(call, requests) {
      yield* (await calls.stream(outgoing(call), requests)).messages;
    },
    close: () => calls.close(),
  };
}

function outgoing(
  call: ForwardedCall,
  headers?: ForwardChannelOptions["headers"],
): OutgoingCall {
  return {
    path: call.path,
    metadata: {
      toHttp2Headers: () =>
        headers ? { ...call.forwardedHeaders(), ...headers() } : call.forwardedHeaders(),
    },
    signal: call.cancelSignal,
    timeoutMs: call.timeoutMs(),
  };
}

/** Metadata of one connection or of the sign-in here; it means nothing to the next server. */
const OWN_KEYS = new Set([
  "accept-encoding",
  "authorization",
  "connection",
  "content-type",
  "content-length",
  "cookie",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);

/** True for metadata that goes along with a forwarded call. */
export function isForwardedKey(key: string): boolean {
  return !OWN_KEYS.has(key) && !key.startsWith("grpc-") && !key.startsWith(":") &&
    !key.startsWith("connect-");
}

/**
 * The bytes of the length-delimited field `number` of an encoded message, without decoding the
 * rest; undefined when it isn't set. The last one counts where it is there more than once.
 *
 * @throws {RangeError} when the bytes are no message.
 */
export function readField(message: Uint8Array, number: number): Uint8Array | undefined {
  let found: Uint8Array | undefined;
  walkFields(message, (field, _start, from, end) => {
    if (field === number) found = message.subarray(from, end);
  });
  return found;
}

/**
 * The message with that value of the length-delimited field `number` in place of all that it has.
 *
 * @throws {RangeError} when the bytes are no message.
 */
export function withField(message: Uint8Array, number: number, value: Uint8Array): Uint8Array {
  const changed = new Uint8Array(MOST_HEAD_BYTES + value.length + message.length);
  let at = putVarint(changed, 0, number * 8 + 2);
  at = putVarint(changed, at, value.length);
  changed.set(value, at);
  at += value.length;
  let kept = 0;
  const keepTo = (to: number) => {
    if (to > kept) changed.set(message.subarray(kept, to), at);
    at += to - kept;
  };
  walkFields(message, (field, start, _from, end) => {
    if (field !== number) return;
    keepTo(start);
    kept = end;
  });
  keepTo(message.length);
  return changed.subarray(0, at);
}

/** Of a field's number and its length. */
const MOST_HEAD_BYTES = 10;

function putVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes[at++] = left % 128 + 128;
  bytes[at++] = left;
  return at;
}

/** Calls `found` with each length-delimited field: where it starts, its bytes from and to. */
function walkFields(
  message: Uint8Array,
  found: (number: number, start: number, from: number, end: number) => void,
): void {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 64; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) throw new RangeError("the message ends inside a number");
      if (shift < 49) value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number of the message is too long");
  };
  while (at < message.length) {
    const start = at;
    const tag = varint();
    const kind = tag & 7;
    if (kind === 2) {
      const length = varint();
      const end = at + length;
      if (end <= message.length) found(Math.floor(tag / 8), start, at, end);
      at = end;
    } else if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else throw new RangeError(`the message has a field of the unknown kind ${kind}`);
  }
  if (at > message.length) throw new RangeError("the message ends inside a field");
}
