/** Native gRPC straight on HTTP/2, for the path on which every microsecond is paid twice. */
import { Code, ConnectError } from "@connectrpc/connect";
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import net from "node:net";
import type { AnswerMetadata, CallChannel, CancelSignal } from "./call_channel.ts";
import { closeHttp2SessionsOutsideParser } from "./http2_reentrancy.ts";
import { LeanAnswer } from "./lean_answer.ts";
import { framed, type LeanCall, requestHeaders } from "./lean_wire.ts";

/** Messages of one stream that wait for their reader before the flow is stopped. */
const QUEUED_MESSAGES = 16;

/**
 * What the general client of grpc-js does, without its layers for balancing, retries and
 * interception: half the work, and it works on runtimes on which that client loses calls. One
 * connection, opened when first used and again after it broke. Messages are not compressed.
 */
export class LeanChannel implements CallChannel {
  #session: ClientHttp2Session | undefined;
  #inFlight = 0;

  /** @param address `unix:/path` or `http://host:port`. */
  constructor(private readonly address: string) {
    closeHttp2SessionsOutsideParser();
  }

  /** Calls with one answer that are under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  call(outgoing: LeanCall, request: Uint8Array): Promise<Uint8Array> {
    return this.#unary(outgoing, request, (_answer, bytes) => bytes);
  }

  unaryWithMetadata(
    outgoing: LeanCall,
    request: Uint8Array,
  ): Promise<AnswerMetadata & { bytes: Uint8Array }> {
    return this.#unary(
      outgoing,
      request,
      ({ header, trailer }, bytes) => ({ header, trailer, bytes }),
    );
  }

  #unary<T>(
    outgoing: LeanCall,
    request: Uint8Array,
    result: (answer: LeanAnswer, bytes: Uint8Array) => T,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { signal } = outgoing;
      if (signal.aborted) return reject(abortReason(signal));
      const stream = this.#theSession().request(requestHeaders(outgoing));
      this.#inFlight++;
      const answer = new LeanAnswer(stream);
      const cancel = () => stream.close(http2.constants.NGHTTP2_CANCEL);
      signal.addEventListener("abort", cancel, { once: true });
      stream.on("close", () => {
        this.#inFlight--;
        signal.removeEventListener("abort", cancel);
        const failure = answer.failure();
        const [bytes] = answer.messages;
        if (failure) reject(signal.aborted ? abortReason(signal) : failure);
        else if (bytes) resolve(result(answer, bytes));
        else reject(new ConnectError("the call ended without an answer", Code.Internal));
      });
      stream.end(framed(request));
    });
  }

  async stream(
    outgoing: LeanCall,
    requests: AsyncIterable<Uint8Array>,
  ): Promise<AnswerMetadata & { messages: AsyncIterable<Uint8Array> }> {
    const { signal } = outgoing;
    if (signal.aborted) throw abortReason(signal);
    const stream = this.#theSession().request(requestHeaders(outgoing));
    const answer = new LeanAnswer(stream);
    const cancel = () => stream.close(http2.constants.NGHTTP2_CANCEL);
    signal.addEventListener("abort", cancel, { once: true });
    stream.on("close", () => signal.removeEventListener("abort", cancel));
    const reader = new StreamReader(stream, answer, signal);
    const begun = new Promise<void>((resolve) => {
      stream.once("response", () => resolve());
      stream.once("close", () => resolve());
    });
    void send(stream, requests);
    await begun;
    const trailer = new Headers();
    return { header: answer.header, trailer, messages: reader.messages(trailer) };
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

/** Hands the messages of a stream on in the pace of their reader. */
class StreamReader {
  #ended = false;
  #wake = () => {};

  constructor(
    private readonly stream: ClientHttp2Stream,
    private readonly answer: LeanAnswer,
    private readonly signal: CancelSignal,
  ) {
    answer.onMessage = () => {
      if (answer.messages.length >= QUEUED_MESSAGES) stream.pause();
      this.#wake();
    };
    stream.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** The messages, then the call's error if it ended with one. */
  async *messages(trailer: Headers): AsyncIterable<Uint8Array> {
    const { stream, answer, signal } = this;
    try {
      for (;;) {
        const message = answer.messages.shift();
        if (message !== undefined) {
          if (answer.messages.length === 0) stream.resume();
          yield message;
        } else if (this.#ended) break;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
      for (const [key, value] of answer.trailer) trailer.append(key, value);
      const failure = answer.failure();
      if (failure) throw signal.aborted ? abortReason(signal) : failure;
    } finally {
      if (!this.#ended) stream.close(http2.constants.NGHTTP2_CANCEL);
    }
  }
}

async function send(
  stream: ClientHttp2Stream,
  requests: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const request of requests) {
      if (stream.destroyed || stream.closed) return;
      if (!stream.write(framed(request))) await drained(stream);
    }
    stream.end();
  } catch {
    // The source of the requests failed: the call can't be completed, and its reader learns it so.
    stream.close(http2.constants.NGHTTP2_CANCEL);
  }
}

function drained(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off("drain", go);
      stream.off("close", go);
      resolve();
    };
    stream.on("drain", go);
    stream.on("close", go);
  });
}

function abortReason(signal: CancelSignal): ConnectError {
  const { reason } = signal;
  return reason instanceof ConnectError
    ? reason
    : new ConnectError("the call was cancelled", Code.Canceled);
}
