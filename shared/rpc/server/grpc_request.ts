/** One gRPC call that came in over HTTP/2: metadata and messages as bytes, and its answer. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import type { OutgoingHttpHeaders } from "node:http2";
import { isForwardedKey } from "../client/forward.ts";
import { inflater } from "../client/grpc_compression.ts";
import type { HeaderList } from "../h2/fields.ts";
import { ANSWER_FIELDS, answerHeaders, errorTrailers, okTrailers } from "./grpc_trailers.ts";
import type { RequestReceiver, ServedStream } from "../h2/served_stream.ts";
import { framed, headerValue, parseTimeout } from "../client/grpc_frames.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import type { RequestAccounts } from "./request_budget.ts";
import { RequestBody } from "./request_body.ts";

/** What HTTP/2 and the encoding of messages need, and no handler. */
const TRANSPORT_KEYS = new Set([
  "te",
  "content-type",
  "grpc-encoding",
  "grpc-accept-encoding",
  "grpc-timeout",
]);

export interface GrpcRequestOptions {
  /** True where the method takes one message. */
  readonly takesOne: boolean;
  readonly accounts: RequestAccounts;
}

export class GrpcRequest implements RequestReceiver {
  /** Value of `performance.now()` by which the caller wants its answer; undefined: whenever. */
  readonly deadlineAt: number | undefined;
  /** Its messages. */
  readonly body: RequestBody;
  #cancelled = false;
  #begun = false;
  #onCancelled: (() => void)[] | undefined;

  /** @throws {ConnectError} when the messages are compressed in a way that isn't known here. */
  constructor(
    private readonly headers: HeaderList,
    private readonly stream: ServedStream,
    { takesOne, accounts }: GrpcRequestOptions,
  ) {
    const timeoutMs = parseTimeout(headerValue(headers, "grpc-timeout"));
    this.deadlineAt = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    const inflate = inflater(headerValue(headers, "grpc-encoding"));
    this.body = new RequestBody({ takesOne, accounts, inflate, flow: stream });
  }

  get host(): string {
    return headerValue(this.headers, ":authority") ?? "";
  }
  /** True when the caller has left, or can't be answered any more. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** One value of the metadata; binary ones in base64. Keys in lower case. */
  header(key: string): string | undefined {
    if (TRANSPORT_KEYS.has(key)) return undefined;
    const value = headerValue(this.headers, key);
    return value !== undefined && key.endsWith("-bin") ? binaryValues(value)[0] : value;
  }

  /** The whole metadata. */
  allHeaders(): Headers {
    const result = new Headers();
    for (const [key, value] of this.#metadata()) result.append(key, value);
    return result;
  }

  /** What of the metadata goes along with a forwarded call. */
  forwardedHeaders(): OutgoingHttpHeaders {
    const result: Record<string, string[]> = {};
    for (let n = 0; n < this.headers.length; n += 2) {
      const key = this.headers[n]!;
      if (isForwardedKey(key)) (result[key] ??= []).push(this.headers[n + 1]!);
    }
    return result;
  }

  *#metadata(): Iterable<[key: string, value: string]> {
    for (let n = 0; n < this.headers.length; n += 2) {
      const key = this.headers[n]!;
      const value = this.headers[n + 1]!;
      if (key.startsWith(":") || TRANSPORT_KEYS.has(key)) continue;
      if (!key.endsWith("-bin")) yield [key, value];
      else for (const one of binaryValues(value)) yield [key, one];
    }
  }

  /** Called when the caller leaves before it has its answer. */
  onCancelled(listener: () => void): void {
    (this.#onCancelled ??= []).push(listener);
  }

  // What the stream brings.

  data(bytes: Uint8Array): void {
    this.body.data(bytes);
  }

  complete(): void {
    this.body.complete();
  }

  failed(): void {
    this.#cancelled = true;
    this.body.failed();
    for (const listener of this.#onCancelled ?? []) listener();
  }

  /** A handler works on the call, whatever becomes of the caller. */
  handlerBegan(): void {
    this.stream.handlerBegan();
  }

  handlerEnded(): void {
    this.stream.handlerEnded();
  }

  // The answer.

  /** Begins the answer, with the handler's own headers. */
  begin(own?: Headers): void {
    if (this.#begun) return;
    this.#begun = true;
    this.stream.sendHeaders(answerHeaders(own));
  }

  /**
   * Sends one message.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED when it is too large.
   * @returns false when the sender should wait until it is {@link drained}.
   */
  send(message: Uint8Array): boolean {
    this.begin();
    this.stream.send(answered(message));
    return this.stream.roomy;
  }

  /** Resolves when there is room for more messages, or the caller has left. */
  drained(): Promise<void> {
    return this.stream.drained();
  }

  /**
   * Ends a call that went well.
   *
   * @param last its last or only message.
   * @throws {ConnectError} RESOURCE_EXHAUSTED when it is too large.
   */
  end(own: Headers | undefined, last?: Uint8Array): void {
    const bytes = last && answered(last);
    this.begin();
    this.stream.end(okTrailers(own), bytes);
  }

  /** Ends a call that went wrong, after the messages that have been sent. */
  fail(error: ConnectError, own?: Headers): void {
    const trailers = errorTrailers(error, own);
    if (this.#begun) this.stream.end({ repeated: [], others: trailers });
    else this.stream.endWithHeaders({ repeated: ANSWER_FIELDS, others: trailers });
  }
}

function answered(message: Uint8Array): Uint8Array {
  if (message.length <= MAX_MESSAGE_BYTES) return framed(message);
  throw new ConnectError(
    `the answer is larger than ${MAX_MESSAGE_BYTES} bytes`,
    Code.ResourceExhausted,
  );
}

/** Values of one key may come in one text, and without padding. */
function binaryValues(text: string): string[] {
  return text.split(",").map((one) => Buffer.from(one, "base64").toString("base64"));
}
