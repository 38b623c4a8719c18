/** Native gRPC straight on HTTP/2, for the path on which every microsecond is paid twice. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { AnswerMetadata, CallChannel, CancelSignal, OutgoingCall } from "./call_channel.ts";
import { H2Connection } from "../h2/connection.ts";
import { openSocket } from "../h2/socket.ts";
import type { H2Stream } from "../h2/stream.ts";
import { Http2Response } from "./http2_response.ts";
import { framed, RequestHeaders } from "./grpc_frames.ts";

/** Messages of one stream that wait for their reader before the flow is stopped. */
const QUEUED_MESSAGES = 16;

/**
 * What the general client of grpc-js does, without its layers for balancing, retries and
 * interception and on an HTTP/2 client of our own: a third of the work, and it works on runtimes on
 * which that client loses calls. One connection, opened when first used and again after it broke.
 * Plaintext unless others open its connections. Messages are not compressed.
 */
export class Http2Channel implements CallChannel {
  readonly #headers: RequestHeaders;
  #current: H2Connection | undefined;
  /** The current connection, and others that finish their calls. */
  readonly #connections = new Set<H2Connection>();
  #inFlight = 0;

  /**
   * @param address `unix:/path`, or `http://host:port`; with `open` also `https://host:port`.
   * @param open opens the connections. Default: plaintext to `address`.
   */
  constructor(address: string, private readonly open = () => openSocket(address)) {
    const authority = address.startsWith("unix:") ? "localhost" : new URL(address).host;
    this.#headers = new RequestHeaders(authority, address.startsWith("https:"));
  }

  /** Calls with one answer that are under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  call(outgoing: OutgoingCall, request: Uint8Array): Promise<Uint8Array> {
    return this.#unary(outgoing, request, (_answer, bytes) => bytes);
  }

  unaryWithMetadata(
    outgoing: OutgoingCall,
    request: Uint8Array,
  ): Promise<AnswerMetadata & { bytes: Uint8Array }> {
    return this.#unary(
      outgoing,
      request,
      ({ header, trailer }, bytes) => ({ header, trailer, bytes }),
    );
  }

  #unary<T>(
    outgoing: OutgoingCall,
    request: Uint8Array,
    result: (answer: Http2Response, bytes: Uint8Array) => T,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { signal } = outgoing;
      if (signal.aborted) return reject(abortReason(signal));
      const headers = this.#headers.of(outgoing);
      const body = framed(request);
      this.#inFlight++;
      let current: Http2Response;
      const cancel = () => current.cancel();
      const attempt = (again: boolean) => {
        current = new Http2Response((answer) => {
          // A server that leaves says which calls it hasn't begun; they belong to the next one.
          if (answer.unprocessed && again && !signal.aborted) return attempt(false);
          this.#inFlight--;
          signal.removeEventListener("abort", cancel);
          const failure = answer.failure();
          const [bytes] = answer.messages;
          if (failure) reject(signal.aborted ? abortReason(signal) : failure);
          else if (bytes) resolve(result(answer, bytes));
          else reject(new ConnectError("the call finished without a response", Code.Internal));
        });
        const answer = current;
        answer.stream = this.#connection().request(headers, answer);
        answer.stream.send(body, { end: true });
      };
      signal.addEventListener("abort", cancel, { once: true });
      attempt(true);
    });
  }

  async stream(
    outgoing: OutgoingCall,
    requests: AsyncIterable<Uint8Array>,
  ): Promise<AnswerMetadata & { messages: AsyncIterable<Uint8Array> }> {
    const { signal } = outgoing;
    if (signal.aborted) throw abortReason(signal);
    const headers = this.#headers.of(outgoing);
    const reader = new StreamReader(signal);
    const { answer } = reader;
    const stream = this.#connection().request(headers, answer);
    answer.stream = stream;
    void send(stream, requests, () => answer.cancel());
    await reader.begun;
    const trailer = new Headers();
    return { header: answer.header, trailer, messages: reader.messages(trailer) };
  }

  close(): void {
    this.#current = undefined;
    for (const connection of this.#connections) connection.close();
    this.#connections.clear();
  }

  #connection(): H2Connection {
    if (this.#current?.usable) return this.#current;
    for (const connection of this.#connections) {
      if (connection.ended) this.#connections.delete(connection);
    }
    const opened = new H2Connection({ connect: this.open });
    this.#connections.add(opened);
    return this.#current = opened;
  }
}

/** Hands the messages of a stream on as fast as they are read. */
class StreamReader {
  readonly answer: Http2Response;
  /** Resolves when the headers are there or never come. */
  readonly begun: Promise<void>;
  #ended = false;
  #wake = () => {};

  constructor(private readonly signal: CancelSignal) {
    const begun = Promise.withResolvers<void>();
    this.begun = begun.promise;
    const cancel = () => this.answer.cancel();
    this.answer = new Http2Response(() => {
      this.#ended = true;
      signal.removeEventListener("abort", cancel);
      begun.resolve();
      this.#wake();
    });
    this.answer.onHeader = begun.resolve;
    this.answer.onMessage = () => {
      if (this.answer.messages.length >= QUEUED_MESSAGES) this.answer.stream?.pause();
      this.#wake();
    };
    signal.addEventListener("abort", cancel, { once: true });
  }

  /** The messages, then the call's error if it ended with one. */
  async *messages(trailer: Headers): AsyncIterable<Uint8Array> {
    const { answer, signal } = this;
    try {
      for (;;) {
        const message = answer.messages.shift();
        if (message !== undefined) {
          if (answer.messages.length === 0) answer.stream?.resume();
          yield message;
        } else if (this.#ended) break;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
      for (const [key, value] of answer.trailer) trailer.append(key, value);
      const failure = answer.failure();
      if (failure) throw signal.aborted ? abortReason(signal) : failure;
    } finally {
      answer.cancel();
    }
  }
}

async function send(
  stream: H2Stream,
  requests: AsyncIterable<Uint8Array>,
  cancel: () => void,
): Promise<void> {
  try {
    for await (const request of requests) {
      if (stream.closed) return;
      stream.send(framed(request), { end: false });
      await stream.drained();
    }
    stream.send(new Uint8Array(0), { end: true });
  } catch {
    // The source of the requests failed: the call can't be completed, and its reader learns it so.
    cancel();
  }
}

function abortReason(signal: CancelSignal): ConnectError {
  const { reason } = signal;
  return reason instanceof ConnectError
    ? reason
    : new ConnectError("the call was cancelled", Code.Canceled);
}
