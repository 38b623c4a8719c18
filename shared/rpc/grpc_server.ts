/** Native gRPC over HTTP/2: connections in, calls to the router's methods. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import type { CallDeadlines } from "./deadlines.ts";
import type { UnexpectedErrorReporter } from "./errors.ts";
import { GrpcRequest } from "./grpc_request.ts";
import { ANSWER_FIELDS, errorTrailers } from "./grpc_trailers.ts";
import { answerMany, answerOne, GrpcTurn } from "./grpc_turn.ts";
import type { HeaderList } from "./h2/hpack.ts";
import type { HeaderBlock } from "./h2/hpack_encoder.ts";
import { ServedConnection } from "./h2/served_connection.ts";
import type { RequestReceiver, ServedStream } from "./h2/served_stream.ts";
import { writableOf } from "./h2/socket.ts";
import { Turns } from "./h2/turns.ts";
import type { Interceptor } from "./interceptor.ts";
import { headerValue } from "./lean_wire.ts";
import type { Peer } from "./peer.ts";
import type { MethodBinding, RpcRouter } from "./router.ts";
import type { RunningCalls } from "./running_calls.ts";

/** A connection that is silent for so long is asked whether it lives, and has so long to answer. */
const KEEP_ALIVE = { askAfterMs: 60_000, waitMs: 20_000 };
const LOOK_EVERY_MS = 10_000;

export interface GrpcServerOptions {
  readonly router: RpcRouter;
  readonly interceptors: readonly Interceptor[];
  readonly deadlines: CallDeadlines;
  readonly running: RunningCalls;
  readonly report: UnexpectedErrorReporter;
  /** Ends streams and the following of the router; unary calls go on. */
  readonly signal: AbortSignal;
}

/**
 * Serves the methods of a router. Messages stay bytes until the interceptors have let the call in.
 *
 * It speaks HTTP/2 itself (`h2/`): node:http2 with grpc-js takes two to three times as much
 * processor time for a short call.
 */
export class GrpcServer {
  readonly #methods = new Map<string, MethodBinding>();
  /** Those whose socket is open. */
  readonly #sockets = new Map<Socket, ServedConnection>();
  readonly #turns = new Turns({
    monotonicMs: () => performance.now(),
    nextTurn: (run) => setImmediate(run),
    // A timer lets the loop wait for once, when what this turn caused is done; then it looks.
    afterSockets: (run) => setImmediate(() => setTimeout(run, 0)),
  });
  readonly #keepAlive: ReturnType<typeof setInterval>;
  #leaving = false;
  #onDrained = () => {};

  constructor(private readonly options: GrpcServerOptions) {
    options.router.follow(({ methods }) => {
      for (const binding of methods) this.#methods.set(binding.path, binding);
    }, options.signal);
    this.#keepAlive = setInterval(() => {
      for (const connection of this.#sockets.values()) connection.keepAlive(KEEP_ALIVE);
    }, LOOK_EVERY_MS);
  }

  /** Takes a connection, with nothing read from it. */
  accept(socket: Socket, peer: Peer): void {
    const connection = new ServedConnection({
      socket: writableOf(socket),
      onRequest: (stream, headers) => this.#request(stream, headers, peer),
      onEnd: () => undefined,
      onFault: (error) => this.options.report(error, "the end of a connection", "none"),
      monotonicMs: () => performance.now(),
    });
    this.#sockets.set(socket, connection);
    this.#turns.read(socket, (bytes, goOn) => connection.push(bytes, goOn));
    socket.once("end", () => connection.lost());
    socket.once("close", () => {
      connection.lost();
      this.#sockets.delete(socket);
      if (this.#leaving && this.#sockets.size === 0) this.#onDrained();
    });
    // Whoever looked at the first bytes has put them back and left the socket paused.
    socket.resume();
    if (this.#leaving) connection.leave();
  }

  /** Takes no more calls; resolves when those under way have ended and all connections are closed. */
  async drain(): Promise<void> {
    clearInterval(this.#keepAlive);
    this.#leaving = true;
    for (const connection of this.#sockets.values()) connection.leave();
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => this.#onDrained = resolve);
  }

  /** Ends everything at once. */
  destroy(): void {
    clearInterval(this.#keepAlive);
    for (const connection of this.#sockets.values()) connection.close("the server ended");
  }

  #request(stream: ServedStream, headers: HeaderList, peer: Peer): void {
    const type = headerValue(headers, "content-type");
    const method = headerValue(headers, ":method");
    if (method !== "POST" || !type?.startsWith("application/grpc")) {
      stream.receiver = new NoGrpc(stream, method === "HEAD");
      return;
    }
    const path = headerValue(headers, ":path") ?? "";
    const binding = this.#methods.get(path);
    if (!binding) return refuse(stream, new ConnectError(unknown(path), Code.Unimplemented));
    let request: GrpcRequest;
    try {
      request = new GrpcRequest(headers, stream);
    } catch (error) {
      return refuse(stream, ConnectError.from(error));
    }
    stream.receiver = request;
    this.#begin(binding, request, peer);
  }

  #begin(binding: MethodBinding, request: GrpcRequest, peer: Peer): void {
    const turn = () => new GrpcTurn(binding, request, peer, this.options);
    switch (binding.method.methodKind) {
      case "unary":
        request.onComplete = () => void answerOne(turn(), () => request.only());
        break;
      case "server_streaming":
        request.onComplete = () => void answerMany(turn(), () => request.only());
        break;
      case "client_streaming":
        void answerOne(turn(), () => request.messages());
        break;
      case "bidi_streaming":
        void answerMany(turn(), () => request.messages());
    }
  }
}

/** What a client gets that speaks HTTP/2, but not gRPC. */
const NO_GRPC: HeaderBlock = {
  repeated: [],
  others: [":status", "415", "content-type", "text/plain; charset=utf-8"],
};
const NO_GRPC_TEXT = new TextEncoder().encode(
  "Over HTTP/2 only gRPC is served here; use HTTP/1.1 for all else.\n",
);

/** Answers a request that is no call when it is complete, and well-formed up to its end. */
class NoGrpc implements RequestReceiver {
  constructor(private readonly stream: ServedStream, private readonly headOnly: boolean) {}

  data(): void {}

  complete(): void {
    if (this.headOnly) return this.stream.endWithHeaders(NO_GRPC);
    this.stream.sendHeaders(NO_GRPC);
    this.stream.end(undefined, NO_GRPC_TEXT);
  }

  failed(): void {}
}

function refuse(stream: ServedStream, error: ConnectError): void {
  const others = errorTrailers(error, error.metadata);
  stream.endWithHeaders({ repeated: ANSWER_FIELDS, others });
}

function unknown(path: string): string {
  return `the server does not implement the method ${path}`;
}
