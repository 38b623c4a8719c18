import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ServerSurfaceCall } from "@grpc/grpc-js/build/src/server-call.d.ts";
import type { Metadata } from "@grpc/grpc-js";
import type { OutgoingHttpHeaders } from "node:http2";
import type { CancelSignal } from "./call_channel.ts";
import { type ForwardedCall, isForwardedKey, passedOnKey } from "./forward.ts";
import type { Call } from "./interceptor.ts";
import { headersFromMetadata, metadataFromHeaders } from "./metadata.ts";
import { type Peer, peerKey } from "./peer.ts";
import type { MethodBinding } from "./router.ts";

/**
 * A call that came in over HTTP/2: what interceptors see and the context of its handler.
 * Headers, context values and the abort signal are made when first asked for; a plain unary call
 * needs none of them.
 */
export class GrpcCall implements Call, HandlerContext, ForwardedCall {
  readonly protocolName = "grpc";
  readonly requestMethod = "POST";
  readonly startedAt = performance.now();
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
    private readonly surface: ServerSurfaceCall,
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
    return `http://${this.surface.getHost()}${this.binding.path}`;
  }

  header(key: string): string | undefined {
    const value = this.surface.metadata.get(key)[0];
    return value === undefined || typeof value === "string" ? value : value.toString("base64");
  }

  forwardedHeaders(): OutgoingHttpHeaders {
    const headers = this.surface.metadata.toHttp2Headers();
    const forwarded: OutgoingHttpHeaders = {};
    for (const key in headers) if (isForwardedKey(key)) forwarded[key] = headers[key];
    return Object.assign(forwarded, this.#values?.get(passedOnKey));
  }

  get cancelSignal(): CancelSignal {
    return this.#cancelSignal ??= this.#controller?.signal ?? new CallCancelSignal(this.surface);
  }

  get requestHeader(): Headers {
    return this.#requestHeader ??= headersFromMetadata(this.surface.metadata);
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
      if (this.surface.cancelled) this.abort(cancelled());
      else this.surface.once("cancelled", () => this.abort(cancelled()));
      if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  timeoutMs(): number | undefined {
    const deadline = this.surface.getDeadline();
    const at = typeof deadline === "number" ? deadline : deadline.getTime();
    return Number.isFinite(at) ? Math.max(0, at - Date.now()) : undefined;
  }

  /** True when the caller set a deadline; gRPC itself ends such a call in time. */
  get hasDeadline(): boolean {
    return this.surface.getDeadline() !== Infinity;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    if (this.#cancelSignal instanceof CallCancelSignal) this.#cancelSignal.abort(reason);
    this.#onAbort?.(
      reason instanceof ConnectError
        ? reason
        : new ConnectError("the call was ended by the server", Code.Aborted),
    );
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

  /** Sends the response headers that the handler set, if any. */
  sendHeaders(): void {
    if (this.#responseHeader) {
      this.surface.sendMetadata(metadataFromHeaders(this.#responseHeader));
      this.#responseHeader = undefined;
    }
  }

  trailers(): Metadata | undefined {
    return this.#responseTrailer && metadataFromHeaders(this.#responseTrailer);
  }
}

/** Made once: an error for each call would cost as much as the rest of its end. */
const ENDED = new ConnectError("the call has ended", Code.Canceled);

/** For calls that are passed on: an `AbortController` costs them more than their routing. */
class CallCancelSignal implements CancelSignal {
  aborted = false;
  #reason: unknown;
  readonly #listeners = new Set<() => void>();

  constructor(surface: ServerSurfaceCall) {
    if (surface.cancelled) this.abort();
    // It also comes at the end of every call that went well.
    else surface.once("cancelled", () => this.abort());
  }

  get reason(): unknown {
    return this.#reason ??= this.aborted ? cancelled() : undefined;
  }

  /** @param reason default: the caller went away. */
  abort(reason?: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }
}

function cancelled(): ConnectError {
  return new ConnectError("the caller went away", Code.Canceled);
}
