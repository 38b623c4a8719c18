import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { OutgoingHttpHeaders } from "node:http2";
import type { CancelSignal } from "../client/call_channel.ts";
import { CancelSource } from "../client/cancel_source.ts";
import { type ForwardedCall, isForwardedKey, passedOnKey } from "../client/forward.ts";
import type { Call } from "../server/interceptor.ts";
import { type Peer, peerKey } from "../server/peer.ts";
import type { MethodBinding } from "../server/router.ts";
import { type CallMetadata, headersFrom } from "./call_metadata.ts";

export interface ServedCallOptions {
  readonly binding: MethodBinding;
  readonly metadata: CallMetadata;
  readonly peer: Peer;
  /** What the caller allows, in milliseconds; undefined without a limit. */
  readonly timeoutMs: number | undefined;
  /** Leaves what is known of the caller, before interceptors run. */
  readonly values?: ((values: ContextValues) => void) | undefined;
}

/** Made once: an error for each call would cost as much as the rest of its end. */
export const ENDED = new ConnectError("the call has finished", Code.Canceled);

/** A call that came in over a data channel: what interceptors see and the context of its handler. */
export class ServedCall implements Call, HandlerContext, ForwardedCall {
  readonly protocolName = "grpc";
  readonly requestMethod = "POST";
  readonly startedAt = performance.now();
  readonly path: string;
  readonly service: DescService;
  readonly method: DescMethod;
  readonly peer: Peer;
  /** Longest message that interceptors want; undefined: the longest there is. */
  messageLimit: number | undefined;
  readonly #metadata: CallMetadata;
  /** Made when a handler wants it; it costs more than passing the call on. */
  #controller: AbortController | undefined;
  readonly #cancelled = new CancelSource();
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;
  #onAbort: ((error: ConnectError) => void) | undefined;

  constructor(private readonly options: ServedCallOptions) {
    const { binding } = options;
    this.path = binding.path;
    this.service = binding.service;
    this.method = binding.method;
    this.peer = options.peer;
    this.#metadata = options.metadata;
  }

  get url(): string {
    return `http://webrtc${this.path}`;
  }

  header(key: string): string | undefined {
    return this.#metadata.get(key)?.[0];
  }

  limitMessages(bytes: number): void {
    this.messageLimit = Math.min(bytes, this.messageLimit ?? bytes);
  }

  forwardedHeaders(): OutgoingHttpHeaders {
    const forwarded: OutgoingHttpHeaders = {};
    for (const [key, values] of this.#metadata) {
      if (isForwardedKey(key)) forwarded[key] = [...values];
    }
    return Object.assign(forwarded, this.#values?.get(passedOnKey));
  }

  get requestHeader(): Headers {
    return this.#requestHeader ??= headersFrom(this.#metadata);
  }
  get responseHeader(): Headers {
    return this.#responseHeader ??= new Headers();
  }
  get responseTrailer(): Headers {
    return this.#responseTrailer ??= new Headers();
  }
  /** Undefined when nobody has set any. */
  get headersSet(): Headers | undefined {
    return this.#responseHeader;
  }
  /** Undefined when nobody has set any. */
  get trailersSet(): Headers | undefined {
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    if (!this.#values) {
      this.#values = createContextValues().set(peerKey, this.peer);
      this.options.values?.(this.#values);
    }
    return this.#values;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled.aborted) this.#controller.abort(this.#cancelled.reason);
    }
    return this.#controller.signal;
  }
  get cancelSignal(): CancelSignal {
    return this.#cancelled;
  }

  timeoutMs(): number | undefined {
    const { timeoutMs } = this.options;
    return timeoutMs === undefined
      ? undefined
      : Math.max(0, timeoutMs - (performance.now() - this.startedAt));
  }

  abort(reason: unknown): void {
    if (this.#cancelled.aborted) return;
    this.#cancelled.abort(reason);
    this.#controller?.abort(reason);
    this.#onAbort?.(
      reason instanceof ConnectError
        ? reason
        : new ConnectError("the call was aborted by the server", Code.Aborted),
    );
  }

  /** Runs when the call is aborted before its handler has answered. */
  onAbort(answer: (error: ConnectError) => void): void {
    this.#onAbort = answer;
  }

  /** Ends the signal when the call is over, so that work tied to it stops. */
  finish(): void {
    this.#onAbort = undefined;
    this.#cancelled.abort(ENDED);
    this.#controller?.abort(ENDED);
  }
}
