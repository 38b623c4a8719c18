import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Peer } from "./peer.ts";

/** One call, seen by interceptors when its headers are there, and nothing of its request was read. */
export interface Call {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly service: DescService;
  readonly method: DescMethod;
  readonly peer: Peer;
  /** Request metadata; keys in lower case. */
  readonly requestHeader: Headers;
  /** One metadata value without building all headers: the fast way to read a single key. */
  header(key: string): string | undefined;
  /** Where an interceptor leaves what handlers read. */
  readonly values: ContextValues;
  /**
   * Only in `before`: refuses messages of the request that are longer, inflated. For calls of which
   * nobody knows who makes them. Absent where messages are in memory already.
   */
  limitMessages?(bytes: number): void;
  /** Ends the call early with this reason; the handler's signal aborts. */
  abort(reason: unknown): void;
}

/** How a call ended. */
export interface CallOutcome {
  /** Undefined when the call succeeded. */
  readonly code: Code | undefined;
  readonly error: unknown;
  readonly durationMs: number;
}

/**
 * A concern written once for every transport: authentication, limits, logging.
 *
 * `before` runs when the headers of the call are there, in the order of the list; what it throws is
 * the call's answer, nothing of the request is kept and the handler does not run. `after` runs exactly once for each call whose `before` was entered,
 * in reverse order, when the last message has been handed to the transport. It must not throw.
 */
export interface Interceptor {
  before?(call: Call): void | Promise<void>;
  after?(call: Call, outcome: CallOutcome): void;
}

/**
 * Runs every `before`; stays synchronous as long as none returns a promise (the hot path).
 *
 * @param turn shows whether the call has ended meanwhile; then no further `before` is entered, as
 * the `after` that belongs to it has run.
 * @throws what a `before` throws, and CANCELED when the call has ended.
 */
export function runBefore(
  interceptors: readonly Interceptor[],
  call: Call,
  turn?: { readonly ended: boolean },
): void | Promise<void> {
  for (let i = 0; i < interceptors.length; i++) {
    const pending = interceptors[i]!.before?.(call);
    if (pending !== undefined) return continueBefore(interceptors, call, turn, pending, i + 1);
  }
}

async function continueBefore(
  interceptors: readonly Interceptor[],
  call: Call,
  turn: { readonly ended: boolean } | undefined,
  pending: Promise<void>,
  next: number,
): Promise<void> {
  await pending;
  for (let i = next; i < interceptors.length; i++) {
    if (turn?.ended) throw new ConnectError("the call has finished", Code.Canceled);
    await interceptors[i]!.before?.(call);
  }
}

export function runAfter(interceptors: readonly Interceptor[], call: Call, outcome: CallOutcome) {
  for (let i = interceptors.length - 1; i >= 0; i--) interceptors[i]!.after?.(call, outcome);
}
