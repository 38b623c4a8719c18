/** What transports and forwarded calls need of a connection for native gRPC. */
import type { CallMetadata } from "./metadata.ts";

/** The part of an `AbortSignal` that calls need; one that costs less to make will do. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** One call to be made. */
export interface OutgoingCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: CallMetadata;
  /** Cancels the call. */
  readonly signal: CancelSignal;
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** Headers and trailers of an answer. */
export interface AnswerMetadata {
  readonly header: Headers;
  readonly trailer: Headers;
}

/** Calls to one address, as bytes. It connects when first used and again after it broke. */
export interface CallChannel {
  /** One request, one answer. @throws {ConnectError} */
  call(outgoing: OutgoingCall, request: Uint8Array): Promise<Uint8Array>;
  /** The same, with the answer's headers and trailers. @throws {ConnectError} */
  unaryWithMetadata(
    outgoing: OutgoingCall,
    request: Uint8Array,
  ): Promise<AnswerMetadata & { bytes: Uint8Array }>;
  /**
   * Streams both ways; resolves when the answer begins. One request or one answer is a stream of
   * one. The trailer is complete when the messages have ended; they end with the call's error.
   */
  stream(
    outgoing: OutgoingCall,
    requests: AsyncIterable<Uint8Array>,
  ): Promise<AnswerMetadata & { messages: AsyncIterable<Uint8Array> }>;
  close(): void;
}
