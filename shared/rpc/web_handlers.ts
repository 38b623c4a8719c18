import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextValues,
  type Interceptor as ConnectInterceptor,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import {
  type UniversalHandler,
  universalServerResponseToFetch,
} from "@connectrpc/connect/protocol";
import type { PrivateConnection } from "./edge.ts";
import { toCallerError, type UnexpectedErrorReporter } from "./errors.ts";
import { type Call, type Interceptor, runAfter, runBefore } from "./interceptor.ts";
import { DEFAULT_CALL_DEADLINE_MS, MAX_MESSAGE_BYTES } from "./limits.ts";
import { peerKey } from "./peer.ts";
import type { RpcRouter, ServiceBinding, UntypedHandler } from "./router.ts";

export interface WebHandlersOptions {
  readonly router: RpcRouter;
  readonly interceptors: readonly Interceptor[];
  readonly report: UnexpectedErrorReporter;
  readonly signal: AbortSignal;
}

/**
 * Answers RPCs that arrive as HTTP/1.1: gRPC-web for browsers, Connect for everything with JSON.
 * A service's handlers are made when it is first called this way; most never are.
 */
export class WebHandlers {
  readonly #services = new Map<string, ServiceBinding>();
  readonly #handlers = new Map<string, UniversalHandler>();

  constructor(private readonly options: WebHandlersOptions) {
    options.router.follow(
      (binding) => this.#services.set(binding.service.typeName, binding),
      options.signal,
    );
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
    const answer = await handler({
      httpVersion: "1.1",
      method: request.method,
      url: request.url,
      header: request.headers,
      body: request.body ?? emptyBody(),
      signal: gone.signal,
      contextValues: createContextValues().set(peerKey, peer),
    });
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
    const slash = path.lastIndexOf("/");
    const service = path.slice(1, slash);
    const binding = this.#services.get(service);
    if (binding && !this.#handlers.has(path)) this.#mount(binding);
    return this.#handlers.get(path);
  }

  #mount({ service, methods }: ServiceBinding): void {
    const implementation: Record<string, UntypedHandler> = {};
    for (const { method, handler } of methods) implementation[method.localName] = handler;
    const router = createConnectRouter({
      grpc: false,
      readMaxBytes: MAX_MESSAGE_BYTES,
      writeMaxBytes: MAX_MESSAGE_BYTES,
      maxTimeoutMs: 24 * 60 * 60_000,
      shutdownSignal: this.options.signal,
      interceptors: [adapt(this.options)],
    });
    router.service(service, implementation as unknown as Partial<ServiceImpl<DescService>>);
    for (const handler of router.handlers) this.#handlers.set(handler.requestPath, handler);
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

/** Runs our interceptors around a call that Connect has decoded. */
function adapt(options: WebHandlersOptions): ConnectInterceptor {
  return (next) => async (request) => {
    const startedAt = performance.now();
    let abort: (reason: unknown) => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => abort = reject);
    aborted.catch(() => undefined);
    const path = `/${request.service.typeName}/${request.method.name}`;
    const call: Call = {
      path,
      service: request.service,
      method: request.method,
      peer: request.contextValues.get(peerKey),
      requestHeader: request.header,
      header: (key) => request.header.get(key) ?? undefined,
      values: request.contextValues,
      abort,
    };
    const end = (error: unknown) =>
      runAfter(options.interceptors, call, {
        code: error === undefined ? undefined : ConnectError.from(error).code,
        error,
        durationMs: performance.now() - startedAt,
      });
    const limit = request.stream ? undefined : setTimeout(
      () => abort(new ConnectError("the call took too long", Code.DeadlineExceeded)),
      DEFAULT_CALL_DEADLINE_MS,
    );
    try {
      await runBefore(options.interceptors, call);
      const response = await Promise.race([next(request), aborted]);
      if (!response.stream) {
        end(undefined);
        return response;
      }
      // What a stream throws once its caller left is the transport's doing, not the handler's.
      const failure = (error: unknown) =>
        request.signal.aborted
          ? new ConnectError("the caller went away", Code.Canceled)
          : toCallerError(error, path, options.report);
      return { ...response, message: followed(response.message, failure, end) };
    } catch (error) {
      const answer = toCallerError(error, path, options.report);
      end(answer);
      throw answer;
    } finally {
      clearTimeout(limit);
    }
  };
}

async function* followed<T>(
  messages: AsyncIterable<T>,
  failure: (error: unknown) => ConnectError,
  end: (error: unknown) => void,
): AsyncIterable<T> {
  let answer: ConnectError | undefined;
  try {
    yield* messages;
  } catch (error) {
    answer = failure(error);
    throw answer;
  } finally {
    end(answer);
  }
}

const exposedHeaders = "grpc-status, grpc-message, grpc-status-details-bin, viam-smrn";

/**
 * Any origin that got here may call: no cookie or other ambient credential counts here, only a
 * token in the request; a server that wants none has a `refuse` that decides. SDKs in browsers send some requests with credentials included, which needs the origin
 * by name.
 */
function corsHeaders(origin: string | null): [string, string][] {
  if (origin === null) return [];
  return [
    ["access-control-allow-origin", origin],
    ["access-control-allow-credentials", "true"],
    ["access-control-expose-headers", exposedHeaders],
    ["vary", "origin"],
  ];
}

function preflightHeaders(origin: string | null): [string, string][] {
  return [
    ...corsHeaders(origin),
    ["access-control-allow-methods", "GET, POST, OPTIONS"],
    [
      "access-control-allow-headers",
      "content-type, authorization, connect-protocol-version, connect-timeout-ms, grpc-timeout, " +
      "x-grpc-web, x-user-agent, viam_client, rpc-host, viam-sid, dtname, opid",
    ],
    ["access-control-max-age", "7200"],
  ];
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
