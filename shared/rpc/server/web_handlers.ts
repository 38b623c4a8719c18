import {
  Code,
  ConnectError,
  type ContextValues,
  createConnectRouter,
  createContextValues,
  type Interceptor as ConnectInterceptor,
  type MethodImpl,
} from "@connectrpc/connect";
import type { DescMethod } from "@bufbuild/protobuf";
import {
  type UniversalHandler,
  universalServerResponseToFetch,
} from "@connectrpc/connect/protocol";
import { corsHeaders, preflightHeaders } from "../cors.ts";
import type { PrivateConnection } from "./edge.ts";
import { toCallerError, type UnexpectedErrorReporter } from "./errors.ts";
import type { Interceptor } from "./interceptor.ts";
import {
  DEFAULT_CALL_DEADLINE_MS,
  MAX_MESSAGE_BYTES,
  OPEN_MESSAGE_BYTES,
} from "../client/limits.ts";
import { countedBody } from "./counted_body.ts";
import { pacedBody } from "./paced_body.ts";
import { peerKey } from "./peer.ts";
import type { RequestBudgets } from "./request_budget.ts";
import type { Pace } from "./request_pace.ts";
import { type MethodBinding, type RpcRouter, takesOne } from "./router.ts";
import { WebCall, webCallKey } from "./web_call.ts";
import { refusal } from "../reasons.ts";

export interface WebHandlersOptions {
  readonly router: RpcRouter;
  readonly interceptors: readonly Interceptor[];
  /** What of requests may wait. */
  readonly budgets: RequestBudgets;
  /** How fast they must come. */
  readonly pace: Pace;
  readonly report: UnexpectedErrorReporter;
  readonly signal: AbortSignal;
}

/**
 * Answers RPCs that arrive as HTTP/1.1: gRPC-web for browsers, Connect for everything with JSON.
 * A method's handler is made when it is first called this way; most never are.
 */
export class WebHandlers {
  readonly #large: MountedServices;
  /** For calls that need no token. */
  readonly #small: MountedServices;

  constructor(private readonly options: WebHandlersOptions) {
    this.#large = new MountedServices(options, MAX_MESSAGE_BYTES);
    this.#small = new MountedServices(options, OPEN_MESSAGE_BYTES);
  }

  /**
   * The answer to an RPC or to its CORS preflight; undefined when the request is neither.
   * `completed` settles when the answer is delivered.
   */
  async handle(
    request: Request,
    caller: PrivateConnection,
    completed: Promise<void>,
  ): Promise<Response | undefined> {
    const { pathname } = new URL(request.url);
    const handler = this.handler(pathname);
    const origin = request.headers.get("origin");
    if (!handler) return isGrpcWeb(request) ? unimplemented(pathname, origin) : undefined;
    if (request.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: preflightHeaders(origin) });
    }
    const gone = new AbortController();
    const left = () => gone.abort(new ConnectError("the caller went away", Code.Canceled));
    const { peer, whenClosed } = caller;
    whenClosed.add(left);
    completed.catch(left).finally(() => whenClosed.delete(left));
    const values = createContextValues().set(peerKey, peer);
    const call = this.#call(pathname, request.headers, values);
    const admitted = await this.#admit(call, request, caller);
    completed.catch(() => undefined).finally(admitted.release);
    const small = call.messageLimit !== undefined;
    const answer = await (small ? this.#small.handler(pathname) ?? handler : handler)({
      httpVersion: "1.1",
      method: request.method,
      url: request.url,
      header: request.headers,
      body: admitted.body,
      signal: gone.signal,
      contextValues: values.set(webCallKey, call),
    });
    if (!call.isHandled) {
      call.end(
        admitted.refusal ?? new ConnectError("the request cannot be read", Code.InvalidArgument),
      );
    }
    const response = universalServerResponseToFetch(
      answer.body ? { ...answer, body: toldWhenCut(answer.body, left) } : answer,
    );
    for (const [name, value] of corsHeaders(origin)) response.headers.set(name, value);
    // Some runtimes compress on their own, past what the protocol negotiated with its client.
    response.headers.set("cache-control", "no-transform");
    return response;
  }

  /** Whether {@link handle} answers this request. */
  isCall(request: Request): boolean {
    return isGrpcWeb(request) || this.handler(new URL(request.url).pathname) !== undefined;
  }

  /** The universal handler of `/package.Service/Method`; undefined when nothing is mounted there. */
  handler(path: string): UniversalHandler | undefined {
    return this.#large.handler(path);
  }

  #call(path: string, requestHeader: Headers, values: ContextValues): WebCall {
    const { service, method } = this.options.router.method(path)!;
    return new WebCall({ path, service, method, requestHeader, values }, this.options.interceptors);
  }

  /** Lets the call in at its headers; the body of one that is not let in is not read. */
  async #admit(call: WebCall, { body, headers }: Request, { peer }: PrivateConnection) {
    const { options } = this;
    const nothing = { body: emptyBody(), release: () => {}, refusal: undefined };
    try {
      await call.begin();
    } catch (error) {
      const refusal = toCallerError(error, call.path, options.report);
      return { ...nothing, body: refusedBody(refusal), refusal };
    }
    if (!body) return nothing;
    const isOpen = call.messageLimit !== undefined;
    // A stream may be silent; its messages are bounded one by one.
    const contentType = headers.get("content-type") ?? "";
    const counted = { schema: call.method.input, contentType };
    if (!isOpen && !takesOne(call)) return { ...nothing, body: countedBody(body, counted) };
    const accounts = options.budgets.accounts(peer);
    const account = isOpen ? accounts.open : accounts.letIn;
    let held = 0;
    const take = (bytes: number) => {
      account.take(bytes);
      held += bytes;
    };
    const release = () => {
      account.give(held);
      held = 0;
      accounts.close();
    };
    const paced = pacedBody(body, { pace: options.pace, isOpen, account: { take } });
    // Short ones have few.
    return { body: isOpen ? paced : countedBody(paced, counted), release, refusal: undefined };
  }
}

/** Handlers with one limit of messages, made when first requested. */
class MountedServices {
  readonly #handlers = new Map<string, UniversalHandler>();

  constructor(
    private readonly options: WebHandlersOptions,
    private readonly readMaxBytes: number,
  ) {}

  handler(path: string): UniversalHandler | undefined {
    const known = this.#handlers.get(path);
    if (known) return known;
    const method = this.options.router.method(path);
    return method && this.#mount(method);
  }

  #mount({ path, method, handler }: MethodBinding): UniversalHandler | undefined {
    const { handlers: [mounted] } = createConnectRouter({
      grpc: false,
      readMaxBytes: this.readMaxBytes,
      writeMaxBytes: MAX_MESSAGE_BYTES,
      maxTimeoutMs: 24 * 60 * 60_000,
      shutdownSignal: this.options.signal,
      interceptors: [adapt(this.options)],
    }).rpc(method, handler as MethodImpl<DescMethod>);
    if (mounted) this.#handlers.set(path, mounted);
    return mounted;
  }
}

/**
 * A body that calls `cut` when nobody takes it any more, also while it waits for its next chunk.
 * Deno's `completed` resolves then too, and its `request.signal` aborts after whole answers.
 */
function toldWhenCut(body: AsyncIterable<Uint8Array>, cut: () => void): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => chunks.next(),
      async throw(reason) {
        cut();
        await chunks.return?.();
        throw reason;
      },
    }),
  };
}

async function* emptyBody(): AsyncIterable<Uint8Array> {}

/** The body of a call that is not let in: what reads it gets the reason. */
function refusedBody(reason: ConnectError): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) };
}

/** Runs a call that Connect has decoded. Calls within the process begin here, others have begun. */
function adapt(options: WebHandlersOptions): ConnectInterceptor {
  return (next) => async (request) => {
    const { service, method, header: requestHeader, contextValues: values } = request;
    const path = `/${service.typeName}/${method.name}`;
    const begun = values.get(webCallKey);
    const call = begun ??
      new WebCall({ path, service, method, requestHeader, values }, options.interceptors);
    call.isHandled = true;
    const limit = request.stream ? undefined : setTimeout(
      () => call.abort(refusal("CALL_SLOW", {}, "the call took too long", Code.DeadlineExceeded)),
      DEFAULT_CALL_DEADLINE_MS,
    );
    try {
      if (!begun) await call.begin();
      const response = await Promise.race([next(request), call.aborted]);
      if (!response.stream) {
        call.end(undefined);
        return response;
      }
      // What a stream throws once its caller left is the transport's doing, not the handler's.
      const failure = (error: unknown) =>
        request.signal.aborted
          ? new ConnectError("the caller went away", Code.Canceled)
          : toCallerError(error, path, options.report);
      const end = (error: unknown) => call.end(error);
      return { ...response, message: followed(response.message, call.aborted, failure, end) };
    } catch (error) {
      const answer = toCallerError(error, path, options.report);
      call.end(answer);
      throw answer;
    } finally {
      clearTimeout(limit);
    }
  };
}

/** The messages of a stream until it ends, or until the call is aborted, whatever its handler does. */
async function* followed<T>(
  messages: AsyncIterable<T>,
  aborted: Promise<never>,
  failure: (error: unknown) => ConnectError,
  end: (error: unknown) => void,
): AsyncIterable<T> {
  const each = messages[Symbol.asyncIterator]();
  let giveUp: (reason: unknown) => void = () => undefined;
  // One listener for all messages: a race for each of them would add one with every message.
  let abortion: { reason: unknown } | undefined;
  aborted.catch((reason) => {
    abortion = { reason };
    giveUp(reason);
  });
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      giveUp = reject;
      if (abortion) reject(abortion.reason);
      else each.next().then(resolve, reject);
    });
  let answer: ConnectError | undefined;
  try {
    for (let found = await next(); !found.done; found = await next()) yield found.value;
  } catch (error) {
    answer = failure(error);
    throw answer;
  } finally {
    end(answer);
    const ended = each.return?.();
    if (!abortion) await ended;
    else ended?.catch(() => undefined);
  }
}

function isGrpcWeb(request: Request): boolean {
  return request.headers.get("content-type")?.startsWith("application/grpc-web") ?? false;
}

function unimplemented(path: string, origin: string | null): Response {
  return new Response(null, {
    status: 200,
    headers: [
      ...corsHeaders(origin),
      ["content-type", "application/grpc-web+proto"],
      ["grpc-status", String(Code.Unimplemented)],
      ["grpc-message", encodeURIComponent(`unknown method ${path}`)],
    ],
  });
}
