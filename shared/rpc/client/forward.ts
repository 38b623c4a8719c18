/** Calls that are passed on to another server as the bytes they came in. */
import type { DescMethod } from "@bufbuild/protobuf";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  type Transport,
} from "@connectrpc/connect";
import type { OutgoingHttpHeaders } from "node:http2";
import type { CancelSignal, OutgoingCall } from "./call_channel.ts";
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

/** Opens a channel to `unix:/path` or `http://host:port`; it connects when first used. */
export function openForwardChannel(options: { address: string }): ForwardChannel {
  const { address } = options;
  const channels: Http2Channel[] = [];
  const withRoom = (): Http2Channel => {
    const found = channels.find(({ inFlight }) => inFlight < MOST_IN_FLIGHT);
    if (found) return found;
    const added = new Http2Channel(address);
    channels.push(added);
    return added;
  };
  // Streams stay open for long; they must not take the places of calls.
  const streams = new Http2Channel(address);
  return {
    transport: transportOver(streams),
    unary: (call, request) => withRoom().call(outgoing(call), request),
    async *stream(call, requests) {
      yield* (await streams.stream(outgoing(call), requests)).messages;
    },
    close() {
      for (const channel of [streams, ...channels]) channel.close();
    },
  };
}

function outgoing(call: ForwardedCall): OutgoingCall {
  return {
    path: call.path,
    metadata: { toHttp2Headers: () => call.forwardedHeaders() },
    signal: call.cancelSignal,
    timeoutMs: call.timeoutMs(),
  };
}

/** Metadata of one connection or of the sign-in here; it means nothing to the next server. */
const OWN_KEYS = new Set([
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
  let at = 0;
  let found: Uint8Array | undefined;
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
    const tag = varint();
    const kind = tag & 7;
    if (kind === 2) {
      const length = varint();
      const end = at + length;
      if (end <= message.length && Math.floor(tag / 8) === number) {
        found = message.subarray(at, end);
      }
      at = end;
    } else if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else throw new RangeError(`the message has a field of the unknown kind ${kind}`);
  }
  if (at > message.length) throw new RangeError("the message ends inside a field");
  return found;
}
