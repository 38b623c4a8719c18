import { Code, ConnectError } from "@connectrpc/connect";
import { type Metadata, Server } from "@grpc/grpc-js";
import type {
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
  ServerSurfaceCall,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js/build/src/server-call.d.ts";
import { Buffer } from "node:buffer";
import type { CallDeadlines } from "./deadlines.ts";
import { toCallerError, type UnexpectedErrorReporter } from "./errors.ts";
import { GrpcCall } from "./grpc_call.ts";
import { grpcStatus } from "./grpc_status.ts";
import { type Interceptor, runAfter, runBefore } from "./interceptor.ts";
import { type EncodedRequest, invokeMany, invokeOne } from "./invocation.ts";
import { DEFAULT_CALL_DEADLINE_MS, MAX_MESSAGE_BYTES } from "./limits.ts";
import type { Peer } from "./peer.ts";
import type { MethodBinding, RpcRouter } from "./router.ts";
import type { RunningCalls } from "./running_calls.ts";

type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>;
type ReadableCall = ServerReadableStream<Buffer, Uint8Array>;
type WritableCall = ServerWritableStream<Buffer, Uint8Array>;
type DuplexCall = ServerDuplexStream<Buffer, Uint8Array>;

export interface GrpcServerOptions {
  readonly router: RpcRouter;
  readonly interceptors: readonly Interceptor[];
  /** The peer behind a connection, by the text that gRPC has for it (`address:port`). */
  readonly peerOf: (grpcPeer: string) => Peer;
  readonly deadlines: CallDeadlines;
  readonly running: RunningCalls;
  readonly report: UnexpectedErrorReporter;
  /** Ends streams and the following of the router; unary calls go on. */
  readonly signal: AbortSignal;
}

/**
 * Mounts a router on a grpc-js server. Messages stay bytes inside grpc-js; they are decoded here,
 * after the interceptors have let the call in.
 */
export function createGrpcServer(options: GrpcServerOptions): Server {
  const server = new Server({
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.enable_channelz": 0,
  });
  options.router.follow(({ methods }) => {
    for (const binding of methods) register(server, binding, options);
  }, options.signal);
  return server;
}

function register(server: Server, binding: MethodBinding, options: GrpcServerOptions): void {
  const asIs = (value: Buffer) => value;
  const bytes = (value: Uint8Array) =>
    Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  switch (binding.method.methodKind) {
    case "unary":
      server.register<Buffer, Uint8Array>(
        binding.path,
        (call: UnaryCall, respond: sendUnaryData<Uint8Array>) =>
          answerOne(new Turn(binding, options, call), () => call.request, respond),
        bytes,
        asIs,
        "unary",
      );
      break;
    case "client_streaming":
      server.register<Buffer, Uint8Array>(
        binding.path,
        (call: ReadableCall, respond: sendUnaryData<Uint8Array>) =>
          answerOne(new Turn(binding, options, call), () => call, respond),
        bytes,
        asIs,
        "clientStream",
      );
      break;
    case "server_streaming":
      server.register<Buffer, Uint8Array>(
        binding.path,
        (call: WritableCall) => answerMany(new Turn(binding, options, call), call.request, call),
        bytes,
        asIs,
        "serverStream",
      );
      break;
    case "bidi_streaming":
      server.register<Buffer, Uint8Array>(
        binding.path,
        (call: DuplexCall) => answerMany(new Turn(binding, options, call), call, call),
        bytes,
        asIs,
        "bidi",
      );
  }
}

/** One call on its way through interceptors, decoding, handler and encoding. */
class Turn {
  readonly call: GrpcCall;
  #ended = false;

  constructor(
    readonly binding: MethodBinding,
    readonly options: GrpcServerOptions,
    private readonly surface: ServerSurfaceCall,
  ) {
    this.call = new GrpcCall(binding, surface, options.peerOf(surface.getPeer()));
    options.running.begin();
  }

  one(request: Buffer | ReadableCall): Promise<Uint8Array> {
    return invokeOne(this.binding, this.call, encoded(request));
  }

  many(request: Buffer | DuplexCall): AsyncIterator<Uint8Array> {
    return invokeMany(this.binding, this.call, encoded(request));
  }

  /** True for the first caller only: a call is answered once. */
  end(error: unknown): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.options.running.end();
    const code = error === undefined ? undefined : ConnectError.from(error).code;
    runAfter(this.options.interceptors, this.call, {
      code,
      error,
      durationMs: performance.now() - this.call.startedAt,
    });
    this.call.finish();
    return true;
  }

  failure(error: unknown): ConnectError {
    // What a stream throws once its caller left is the adapter's own doing, not the handler's.
    if (this.#ended || this.surface.cancelled) {
      return new ConnectError("the caller went away", Code.Canceled);
    }
    return toCallerError(error, this.binding.path, this.options.report);
  }
}

function encoded(request: Buffer | ReadableCall | DuplexCall): EncodedRequest {
  return Buffer.isBuffer(request) ? request : bytesOf(request);
}

async function* bytesOf(requests: ReadableCall | DuplexCall): AsyncGenerator<Uint8Array> {
  // The plain iterator of a duplex stream destroys it at its end, with answers still to be written.
  for await (const chunk of requests.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
}

async function answerOne(
  turn: Turn,
  request: () => Buffer | ReadableCall,
  respond: sendUnaryData<Uint8Array>,
): Promise<void> {
  const { call, options } = turn;
  const fail = (error: ConnectError) => {
    if (turn.end(error)) respond(grpcStatus(error, call.trailers()));
  };
  call.onAbort(fail);
  const deadline = call.hasDeadline
    ? undefined
    : options.deadlines.watch(call, DEFAULT_CALL_DEADLINE_MS);
  try {
    const pending = runBefore(options.interceptors, call);
    if (pending !== undefined) await pending;
    const bytes = await turn.one(request());
    call.sendHeaders();
    const trailers = call.trailers();
    if (turn.end(undefined)) respond(null, bytes, trailers);
  } catch (error) {
    fail(turn.failure(error));
  } finally {
    deadline?.release();
  }
}

async function answerMany(
  turn: Turn,
  request: Buffer | DuplexCall,
  out: WritableCall | DuplexCall,
): Promise<void> {
  const { call } = turn;
  const fail = (error: ConnectError) => {
    if (turn.end(error)) out.emit("error", grpcStatus(error, call.trailers()));
  };
  call.onAbort(fail);
  const stop = () =>
    call.abort(new ConnectError("the server is shutting down; connect again", Code.Unavailable));
  turn.options.signal.addEventListener("abort", stop, { once: true });
  // The signal must be live from the start: it is how a stream learns that its caller left.
  const { signal } = call;
  let messages: AsyncIterator<Uint8Array> | undefined;
  try {
    await runBefore(turn.options.interceptors, call);
    messages = turn.many(request);
    call.sendHeaders();
    for (;;) {
      const { done, value } = await messages.next();
      if (done || signal.aborted) break;
      if (!out.write(value)) await drained(out, signal);
    }
    const trailers: Metadata | undefined = call.trailers();
    if (turn.end(undefined)) trailers ? out.end(trailers) : out.end();
  } catch (error) {
    fail(turn.failure(error));
  } finally {
    turn.options.signal.removeEventListener("abort", stop);
    await messages?.return?.().catch(() => undefined);
  }
}

function drained(out: WritableCall | DuplexCall, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      out.off("drain", finish);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    out.once("drain", finish);
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
  });
}
