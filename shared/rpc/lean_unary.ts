/** Unary gRPC calls straight on HTTP/2, for the path on which every microsecond is paid twice. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import net from "node:net";
import type { OutgoingCall } from "./grpc_channel.ts";
import { connectErrorFromGrpc } from "./grpc_status.ts";
import { closeHttp2SessionsOutsideParser } from "./http2_reentrancy.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";

/** Flag and length in front of a message. */
const PREFIX_BYTES = 5;
/** Largest timeout in milliseconds that the header can hold: 8 digits. */
const LONGEST_TIMEOUT_MS = 99_999_999;

/**
 * What the general client of grpc-js does for a unary call, without its layers for balancing,
 * retries and interception: half the work. One connection, opened when first used and again after
 * it broke. Messages are not compressed.
 */
export class LeanUnary {
  #session: ClientHttp2Session | undefined;
  #inFlight = 0;

  /** @param address `unix:/path` or `http://host:port`. */
  constructor(private readonly address: string) {
    closeHttp2SessionsOutsideParser();
  }

  /** Calls that are under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** One request, one answer. @throws {ConnectError} */
  call(outgoing: OutgoingCall, request: Uint8Array): Promise<Uint8Array> {
    return new Promise<Uint8Array>((resolve, reject) => {
      const { signal } = outgoing;
      if (signal.aborted) return reject(abortReason(signal));
      const stream = this.#theSession().request(headersOf(outgoing));
      this.#inFlight++;
      const answer = new Answer(stream);
      const cancel = () => stream.close(http2.constants.NGHTTP2_CANCEL);
      signal.addEventListener("abort", cancel, { once: true });
      stream.on("close", () => {
        this.#inFlight--;
        signal.removeEventListener("abort", cancel);
        try {
          resolve(answer.message());
        } catch (error) {
          reject(signal.aborted ? abortReason(signal) : error);
        }
      });
      stream.end(framed(request));
    });
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  #theSession(): ClientHttp2Session {
    if (this.#session && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const session = this.address.startsWith("unix:")
      ? http2.connect("http://localhost", {
        createConnection: () => net.connect(this.address.slice("unix:".length)),
      })
      : http2.connect(this.address);
    const forget = () => {
      if (this.#session === session) this.#session = undefined;
    };
    // The streams tell their callers what happened.
    session.on("error", forget);
    session.on("close", forget);
    session.on("goaway", forget);
    return this.#session = session;
  }
}

/** Puts together what a stream brings. */
class Answer {
  #chunks: Buffer | undefined;
  #status: IncomingHttpHeaders | undefined;
  #httpStatus: unknown;
  #error: Error | undefined;

  constructor(stream: ClientHttp2Stream) {
    stream.on("response", (headers) => {
      this.#httpStatus = headers[":status"];
      if (headers["grpc-status"] !== undefined) this.#status = headers;
    });
    stream.on("trailers", (trailers) => this.#status = trailers);
    stream.on("data", (chunk: Buffer) => {
      this.#chunks = this.#chunks ? Buffer.concat([this.#chunks, chunk]) : chunk;
      if (this.#chunks.length > MAX_MESSAGE_BYTES + PREFIX_BYTES) {
        this.#error = new ConnectError(
          `the answer is larger than ${MAX_MESSAGE_BYTES} bytes`,
          Code.ResourceExhausted,
        );
        stream.close(http2.constants.NGHTTP2_CANCEL);
      }
    });
    stream.on("error", (error: Error) => this.#error ??= error);
  }

  /** @throws {ConnectError} */
  message(): Uint8Array {
    const status = this.#status?.["grpc-status"];
    if (status === undefined) throw this.#broken();
    if (Number(status) !== 0) throw statusError(this.#status!);
    const bytes = this.#chunks;
    if (!bytes || bytes.length < PREFIX_BYTES) {
      throw new ConnectError("the call ended without an answer", Code.Internal);
    }
    if (bytes[0] !== 0 || bytes.readUInt32BE(1) !== bytes.length - PREFIX_BYTES) {
      throw new ConnectError("the answer is no single plain message", Code.Internal);
    }
    return bytes.subarray(PREFIX_BYTES);
  }

  #broken(): ConnectError {
    if (this.#error instanceof ConnectError) return this.#error;
    if (this.#httpStatus !== undefined && this.#httpStatus !== 200) {
      return new ConnectError(`the answer is HTTP status ${this.#httpStatus}`, Code.Unknown);
    }
    const reason = this.#error?.message ?? "it was closed";
    return new ConnectError(`the connection broke during the call: ${reason}`, Code.Unavailable);
  }
}

function headersOf({ path, metadata, timeoutMs }: OutgoingCall): OutgoingHttpHeaders {
  const headers = metadata.toHttp2Headers() as OutgoingHttpHeaders;
  headers[":method"] = "POST";
  headers[":path"] = path;
  headers["content-type"] = "application/grpc";
  headers["te"] = "trailers";
  if (timeoutMs !== undefined) {
    headers["grpc-timeout"] = `${Math.min(LONGEST_TIMEOUT_MS, Math.ceil(timeoutMs))}m`;
  }
  return headers;
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

function statusError(headers: IncomingHttpHeaders): ConnectError {
  const text = String(headers["grpc-message"] ?? "");
  const metadata = Metadata.fromHttp2Headers(headers);
  for (const own of ["grpc-status", "grpc-message"]) metadata.remove(own);
  const code = Number(headers["grpc-status"]);
  return connectErrorFromGrpc(
    { code, details: decoded(text), metadata } as unknown as ServiceError,
  );
}

/** Texts travel percent-encoded; what isn't so is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function abortReason(signal: AbortSignal): ConnectError {
  const { reason } = signal;
  return reason instanceof ConnectError
    ? reason
    : new ConnectError("the call was cancelled", Code.Canceled);
}
