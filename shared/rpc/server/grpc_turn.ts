/** One call over HTTP/2 on its way through interceptors, handler and encoding to its answer. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { CallDeadlines } from "./deadlines.ts";
import { toCallerError, type UnexpectedErrorReporter } from "./errors.ts";
import { GrpcCall } from "./grpc_call.ts";
import type { GrpcRequest } from "./grpc_request.ts";
import { type Interceptor, runAfter, runBefore } from "./interceptor.ts";
import { type EncodedRequest, invokeMany, invokeOne } from "./invocation.ts";
import { DEFAULT_CALL_DEADLINE_MS } from "../client/limits.ts";
import type { Peer } from "./peer.ts";
import type { MethodBinding } from "./router.ts";
import type { RunningCalls } from "./running_calls.ts";

/** Longest time that a timer takes: 24.8 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface GrpcTurnOptions {
  readonly interceptors: readonly Interceptor[];
  readonly deadlines: CallDeadlines;
  readonly running: RunningCalls;
  readonly report: UnexpectedErrorReporter;
  /** Ends streams. */
  readonly signal: AbortSignal;
}

export class GrpcTurn {
  readonly call: GrpcCall;
  #ended = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly binding: MethodBinding,
    readonly request: GrpcRequest,
    peer: Peer,
    readonly options: GrpcTurnOptions,
  ) {
    this.call = new GrpcCall(binding, request, peer);
    options.running.begin();
    this.call.onAbort((error) => this.fail(error));
    const timeoutMs = this.call.timeoutMs();
    if (timeoutMs !== undefined && timeoutMs <= LONGEST_TIMER_MS) {
      this.#timer = setTimeout(() => this.call.abort(deadlineExceeded()), timeoutMs);
    }
  }

  /** True when the call has been answered, or cancelled. */
  get ended(): boolean {
    return this.#ended;
  }

  /** True when the caller set a limit, which is watched here. */
  get hasDeadline(): boolean {
    return this.#timer !== undefined;
  }

  /** Answers, unless the call has ended already. @param last the last or only message. */
  succeed(last?: Uint8Array): void {
    if (this.#ended) return;
    // A message that is too large makes it a call that failed.
    this.request.end(this.call.trailersSet, last);
    this.#end(undefined);
  }

  fail(error: ConnectError): void {
    if (this.#ended) return;
    this.request.fail(error, this.call.trailersSet);
    this.#end(error);
  }

  /** What is reported to the caller of what was thrown. */
  failure(error: unknown): ConnectError {
    // What a stream throws once its caller left is the adapter's own doing, not the handler's.
    if (this.#ended || this.request.cancelled) {
      return new ConnectError("the caller went away", Code.Canceled);
    }
    return toCallerError(error, this.binding.path, this.options.report);
  }

  #end(error: ConnectError | undefined): void {
    this.#ended = true;
    this.request.body.end();
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.options.running.end();
    runAfter(this.options.interceptors, this.call, {
      code: error?.code,
      error,
      durationMs: performance.now() - this.call.startedAt,
    });
    this.call.finish();
  }
}

function deadlineExceeded(): ConnectError {
  return new ConnectError("the caller's time for the call is over", Code.DeadlineExceeded);
}

/** Answers a call from its headers on; reads its request when it is let in. */
export function answer(turn: GrpcTurn): void {
  let pending: void | Promise<void>;
  try {
    pending = runBefore(turn.options.interceptors, turn.call, turn);
  } catch (error) {
    return void refuse(turn, error);
  }
  if (pending === undefined) return letIn(turn);
  // Interceptors work on it, such as on its token, whatever becomes of the caller.
  turn.request.handlerBegan();
  pending.then(() => letIn(turn), (error) => refuse(turn, error));
}

async function refuse(turn: GrpcTurn, error: unknown): Promise<void> {
  turn.request.body.end();
  // What came in one piece with the headers goes by; then there is no stream to be reset.
  await undefined;
  turn.fail(turn.failure(error));
  turn.request.handlerEnded();
}

function letIn(turn: GrpcTurn): void {
  const { methodKind } = turn.binding.method;
  const { body } = turn.request;
  body.letIn(turn.call.messageLimit);
  switch (methodKind) {
    case "unary":
      return body.whenComplete(() => void answerOne(turn, () => body.one()));
    case "server_streaming":
      return body.whenComplete(() => void answerMany(turn, () => body.one()));
    case "client_streaming":
      return void answerOne(turn, () => body.messages());
    case "bidi_streaming":
      return void answerMany(turn, () => body.messages());
  }
}

type Requests = () => EncodedRequest | Promise<EncodedRequest>;

/** Answers a call with one message. Never rejects. */
async function answerOne(turn: GrpcTurn, requests: Requests): Promise<void> {
  const { call, options, request } = turn;
  const limit = turn.hasDeadline
    ? undefined
    : options.deadlines.watch(call, DEFAULT_CALL_DEADLINE_MS);
  request.handlerBegan();
  try {
    const input = requests();
    const bytes = await invokeOne(
      turn.binding,
      call,
      input instanceof Promise ? await input : input,
    );
    if (call.headersSet) request.begin(call.headersSet);
    turn.succeed(bytes);
  } catch (error) {
    turn.fail(turn.failure(error));
  } finally {
    limit?.release();
    request.handlerEnded();
  }
}

/** Answers a call with a stream of messages. Never rejects. */
async function answerMany(turn: GrpcTurn, requests: Requests): Promise<void> {
  const { call, options, request } = turn;
  const stop = () =>
    call.abort(new ConnectError("the server is shutting down; connect again", Code.Unavailable));
  options.signal.addEventListener("abort", stop, { once: true });
  // The signal must be live from the start: it is how a stream learns that its caller left.
  const { signal } = call;
  let messages: AsyncIterator<Uint8Array> | undefined;
  request.handlerBegan();
  try {
    messages = invokeMany(turn.binding, call, await requests());
    if (call.headersSet) request.begin(call.headersSet);
    for (;;) {
      const { done, value } = await messages.next();
      if (done || signal.aborted) break;
      if (!request.send(value)) await request.drained();
    }
    turn.succeed();
  } catch (error) {
    turn.fail(turn.failure(error));
  } finally {
    options.signal.removeEventListener("abort", stop);
    await messages?.return?.().catch(() => undefined);
    request.handlerEnded();
  }
}
