/** A call over HTTP/1.1, from its headers on. */
import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { type Call, type Interceptor, runAfter, runBefore } from "./interceptor.ts";
import { type Peer, peerKey } from "./peer.ts";

export interface WebCallOptions {
  readonly path: string;
  readonly service: DescService;
  readonly method: DescMethod;
  readonly requestHeader: Headers;
  /** With the peer at `peerKey`. */
  readonly values: ContextValues;
}

/** Where the call is found when Connect has read its message. */
export const webCallKey: ContextKey<WebCall | undefined> = createContextKey<WebCall | undefined>(
  undefined,
  { description: "call over HTTP/1.1" },
);

export class WebCall implements Call {
  readonly path: string;
  readonly service: DescService;
  readonly method: DescMethod;
  readonly requestHeader: Headers;
  readonly values: ContextValues;
  /** Rejects with the reason when the call is aborted. */
  readonly aborted: Promise<never>;
  /** Longest message that interceptors want; undefined: the longest there is. */
  messageLimit: number | undefined;
  /** True when a handler has taken it over, and ends it. */
  isHandled = false;
  readonly abort: (reason: unknown) => void;
  readonly #startedAt = performance.now();
  #ended = false;

  constructor(options: WebCallOptions, private readonly interceptors: readonly Interceptor[]) {
    this.path = options.path;
    this.service = options.service;
    this.method = options.method;
    this.requestHeader = options.requestHeader;
    this.values = options.values;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.aborted = promise;
    this.abort = reject;
  }

  get peer(): Peer {
    return this.values.get(peerKey);
  }
  get ended(): boolean {
    return this.#ended;
  }

  header(key: string): string | undefined {
    return this.requestHeader.get(key) ?? undefined;
  }

  limitMessages(bytes: number): void {
    this.messageLimit = Math.min(bytes, this.messageLimit ?? bytes);
  }

  /** @throws why it isn't let in. */
  async begin(): Promise<void> {
    await runBefore(this.interceptors, this, this);
  }

  /** @param error why it failed; undefined when it went well. */
  end(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    runAfter(this.interceptors, this, {
      code: error === undefined ? undefined : ConnectError.from(error).code,
      error,
      durationMs: performance.now() - this.#startedAt,
    });
  }
}
