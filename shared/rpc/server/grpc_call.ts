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
import { type ForwardedCall, passedOnKey } from "../client/forward.ts";
import type { GrpcRequest } from "./grpc_request.ts";
import type { Call } from "./interceptor.ts";
import { type Peer, peerKey } from "./peer.ts";
import type { MethodBinding } from "./router.ts";

/**
 * A call that came in over HTTP/2: what interceptors see and the context of its handler.
 * Headers, context values and the abort signal are made when first requested; a plain unary call
 * needs none of them.
 */
export class GrpcCall implements Call, HandlerContext, ForwardedCall {
  readonly protocolName = "grpc";
  readonly requestMethod = "POST";
  readonly startedAt = performance.now();
  /** Longest message that interceptors want; undefined: the longest there is. */
  messageLimit: number | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;
  #controller: AbortController | undefined;
  #cancelSignal: CancelSignal | undefined;
  #aborted: { reason: unknown } | undefined;
  #onAbort: ((error: ConnectError) => void) | undefined;

  constructor(
    private readonly binding: MethodBinding,
    private readonly request: GrpcRequest,
    readonly peer: Peer,
  ) {}

  get path(): string {
    return this.binding.path;
  }
  get service(): DescService {
    return this.binding.service;
  }
  get method(): DescMethod {
    return this.binding.method;
  }
  get url(): string {
    return `http://${this.request.host}${this.binding.path}`;
  }

  header(key: string): string | undefined {
    return this.request.header(key);
  }

  limitMessages(bytes: number): void {
    this.messageLimit = Math.min(bytes, this.messageLimit ?? bytes);
  }

  forwardedHeaders(): OutgoingHttpHeaders {
    return Object.assign(this.request.forwardedHeaders(), this.#values?.get(passedOnKey));
  }

  get cancelSignal(): CancelSignal {
    return this.#cancelSignal ??= this.#controller?.signal ?? this.#cancelSource();
  }

  get requestHeader(): Headers {
    return this.#requestHeader ??= this.request.allHeaders();
  }
  get responseHeader(): Headers {
    return this.#responseHeader ??= new Headers();
  }
  get responseTrailer(): Headers {
    return this.#responseTrailer ??= new Headers();
  }
  get values(): ContextValues {
    return this.#values ??= createContextValues().set(peerKey, this.peer);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.request.cancelled) this.abort(cancelled());
      else this.request.onCancelled(() => this.abort(cancelled()));
      if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  timeoutMs(): number | undefined {
    const at = this.request.deadlineAt;
    return at === undefined ? undefined : Math.max(0, at - performance.now());
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    if (this.#cancelSignal instanceof CancelSource) this.#cancelSignal.abort(reason);
    this.#onAbort?.(
      reason instanceof ConnectError
        ? reason
        : new ConnectError("the call was aborted by the server", Code.Aborted),
    );
  }

  #cancelSource(): CancelSource {
    const source = new CancelSource();
    if (this.request.cancelled) source.abort(cancelled());
    else this.request.onCancelled(() => source.abort(cancelled()));
    return source;
  }

  /** Ends the signal when the call is over, so that work tied to it stops. */
  finish(): void {
    this.#onAbort = undefined;
    this.#controller?.abort(ENDED);
  }

  /** Runs when the server aborts the call before its handler has answered. */
  onAbort(answer: (error: ConnectError) => void): void {
    this.#onAbort = answer;
  }

  /** Headers of the answer; undefined when the handler has set none. */
  get headersSet(): Headers | undefined {
    return this.#responseHeader;
  }
  /** Trailers of the answer; undefined when the handler has set none. */
  get trailersSet(): Headers | undefined {
    return this.#responseTrailer;
  }
}

/** Made once: an error for each call would cost as much as the rest of its end. */
const ENDED = new ConnectError("the call has finished", Code.Canceled);

function cancelled(): ConnectError {
  return new ConnectError("the caller went away", Code.Canceled);
}
