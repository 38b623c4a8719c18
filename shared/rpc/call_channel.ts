/** What transports and forwarded calls need of a connection for native gRPC. */
import type { Metadata } from "@grpc/grpc-js";

/** One call to be made. */
export interface OutgoingCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: Metadata;
  /** Cancels the call. */
  readonly signal: AbortSignal;
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
