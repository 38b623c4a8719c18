/** gRPC on HTTP/2 as bytes and headers: frames of messages, deadlines, status. Pure. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { OutgoingCall } from "./call_channel.ts";
import { connectErrorFromGrpc } from "./grpc_status.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";

/** Flag and length in front of a message. */
const PREFIX_BYTES = 5;
/** Largest timeout in milliseconds that the header can hold: 8 digits. */
const LONGEST_TIMEOUT_MS = 99_999_999;

/** A call to be made, whose metadata may be headers already. */
export interface LeanCall extends Omit<OutgoingCall, "metadata"> {
  readonly metadata: { toHttp2Headers(): OutgoingHttpHeaders };
}

/** The headers that begin a call. */
export function requestHeaders({ path, metadata, timeoutMs }: LeanCall): OutgoingHttpHeaders {
  const headers = metadata.toHttp2Headers();
  headers[":method"] = "POST";
  headers[":path"] = path;
  headers["content-type"] = "application/grpc";
  headers["te"] = "trailers";
  if (timeoutMs !== undefined) {
    headers["grpc-timeout"] = `${Math.min(LONGEST_TIMEOUT_MS, Math.ceil(timeoutMs))}m`;
  }
  return headers;
}

/** A message with its prefix. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** Cuts what arrives into messages. */
export class MessageCutter {
  #rest: Buffer | undefined;

  /**
   * The messages that are complete with this chunk.
   *
   * @throws {ConnectError} for messages that are too large or compressed.
   */
  push(chunk: Buffer): Uint8Array[] {
    let bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    const messages: Uint8Array[] = [];
    while (bytes.length >= PREFIX_BYTES) {
      const length = bytes.readUInt32BE(1);
      if (length > MAX_MESSAGE_BYTES) {
        throw new ConnectError(
          `the answer is larger than ${MAX_MESSAGE_BYTES} bytes`,
          Code.ResourceExhausted,
        );
      }
      if (bytes[0] !== 0) throw new ConnectError("the answer is compressed", Code.Internal);
      if (bytes.length < PREFIX_BYTES + length) break;
      messages.push(bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + length));
      bytes = bytes.subarray(PREFIX_BYTES + length);
    }
    this.#rest = bytes.length > 0 ? bytes : undefined;
    return messages;
  }
}

/** The error that trailers tell; undefined when the call succeeded. */
export function statusError(trailers: IncomingHttpHeaders): ConnectError | undefined {
  const code = Number(trailers["grpc-status"]);
  if (code === 0) return undefined;
  const metadata = Metadata.fromHttp2Headers(trailers);
  for (const own of ["grpc-status", "grpc-message"]) metadata.remove(own);
  const details = decoded(String(trailers["grpc-message"] ?? ""));
  return connectErrorFromGrpc({ code, details, metadata } as unknown as ServiceError);
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
export function answerHeaders(headers: IncomingHttpHeaders | undefined): Headers {
  const result = new Headers();
  for (const [key, value] of Object.entries(headers ?? {})) {
    if (key.startsWith(":") || key === "grpc-status" || key === "grpc-message") continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) result.append(key, one);
    }
  }
  return result;
}
