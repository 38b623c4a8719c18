/** Native gRPC over HTTP/2: connections in, calls to the router's methods. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import type { HeaderList } from "../h2/fields.ts";
import type { CallDeadlines } from "./deadlines.ts";
import type { UnexpectedErrorReporter } from "./errors.ts";
import { GrpcRequest } from "./grpc_request.ts";
import { ANSWER_FIELDS, errorTrailers } from "./grpc_trailers.ts";
import { answer, GrpcTurn, type GrpcTurnOptions } from "./grpc_turn.ts";
import type { HeaderBlock } from "../h2/hpack_encoder.ts";
import { ServedConnection } from "../h2/served_connection.ts";
import type { RequestReceiver, ServedStream } from "../h2/served_stream.ts";
import { writableOf } from "../h2/socket.ts";
import { Turns } from "../h2/turns.ts";
import type { Interceptor } from "./interceptor.ts";
import { headerValue } from "../client/grpc_frames.ts";
import type { Peer } from "./peer.ts";
import type { RequestAccounts, RequestBudgets } from "./request_budget.ts";
import type { Pace } from "./request_pace.ts";
import { type RpcRouter, takesOne } from "./router.ts";
import type { RunningCalls } from "./running_calls.ts";

/**
 * A connection that is silent for so long is queried whether it lives, and has so long to answer.
 */
const KEEP_ALIVE = { askAfterMs: 60_000, waitMs: 20_000 };
const LOOK_EVERY_MS = 5_000;

export interface GrpcServerOptions {
  readonly router: RpcRouter;
  readonly interceptors: readonly Interceptor[];
  readonly deadlines: CallDeadlines;
  readonly running: RunningCalls;
  /** What of requests may wait. */
  readonly budgets: RequestBudgets;
  /** How fast they must come. */
  readonly pace: Pace;
  readonly report: UnexpectedErrorReporter;
  /** Ends streams; unary calls continue. */
  readonly signal: AbortSignal;
}

/** An open connection, and what ends its streams. */
interface Served {
  readonly connection: ServedConnection;
  readonly streams: AbortController;
}

/**
 * Serves the methods of a router. The interceptors see a call when its headers are there;
 * nothing of its messages is looked at before they have let it in.
 *
 * It speaks HTTP/2 itself (`h2/`): node:http2 with grpc-js takes two to three times as much
 * processor time for a short call.
 */
export class GrpcServer {
  /** Those whose socket is open. */
  readonly #sockets = new Map<Socket, Served>();
  readonly #turns = new Turns({
    monotonicMs: () => performance.now(),
    nextTurn: (run) => setImmediate(run),
    // A timer lets the loop wait for once, when what this turn caused is done; then it looks.
    afterSockets: (run) => setImmediate(() => setTimeout(run, 0)),
  });
  readonly #looking: ReturnType<typeof setInterval>;
  #leaving = false;
  #onDrained = () => {};

  constructor(private readonly options: GrpcServerOptions) {
    options.signal.addEventListener("abort", () => {
      for (const { streams } of this.#sockets.values()) streams.abort();
    }, { once: true });
    const everyMs = Math.min(LOOK_EVERY_MS, options.pace.openMs);
    this.#looking = setInterval(() => this.#look(), everyMs);
  }

  /** Takes a connection, with nothing read from it. */
  accept(socket: Socket, peer: Peer): void {
    const accounts = this.options.budgets.accounts(peer);
    const streams = new AbortController();
    if (this.options.signal.aborted) streams.abort();
    const turnOptions = { ...this.options, signal: streams.signal };
    const connection = new ServedConnection({
      socket: writableOf(socket),
      onRequest: (stream, headers) => this.#request(stream, headers, peer, accounts, turnOptions),
      onEnd: () => undefined,
      onFault: (error) => this.options.report(error, "the end of a connection", "none"),
      monotonicMs: () => performance.now(),
    });
    this.#sockets.set(socket, { connection, streams });
    this.#turns.read(socket, (bytes, goOn) => connection.push(bytes, goOn));
    socket.once("end", () => connection.lost());
    socket.once("close", () => {
      connection.lost();
      accounts.close();
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#onDrained();
    });
    // Whoever looked at the first bytes has put them back and left the socket paused.
    socket.resume();
    if (this.#leaving) connection.leave();
  }

  /**
   * Sends clients elsewhere, each connection at a moment of its own within a time: it takes no more
   * calls then, its streams end with UNAVAILABLE, and other calls continue. Resolves when all have
   * gone, or the deadline is exceeded.
   *
   * @param random numbers in [0, 1)
   */
  async leave(withinMs: number, random: () => number): Promise<void> {
    const timers = [...this.#sockets.values()].map(({ connection, streams }) =>
      setTimeout(() => {
        connection.leave();
        streams.abort();
      }, withinMs * random())
    );
    if (timers.length > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onDrained = resolve;
      timers.push(setTimeout(resolve, withinMs));
      await promise;
    }
    for (const timer of timers) clearTimeout(timer);
  }

  /** Takes no more calls; resolves when those under way have ended and all connections are closed. */
  async drain(): Promise<void> {
    clearInterval(this.#looking);
    this.#leaving = true;
    for (const { connection } of this.#sockets.values()) connection.leave();
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => this.#onDrained = resolve);
  }

  /** Ends everything at once. */
  destroy(): void {
    clearInterval(this.#looking);
    for (const { connection } of this.#sockets.values()) connection.close("the server was closed");
  }

  #look(): void {
    const now = performance.now();
    for (const { connection } of this.#sockets.values()) {
      connection.keepAlive(KEEP_ALIVE);
      for (const receiver of connection.receivers()) {
        if (receiver instanceof GrpcRequest) receiver.body.expire(now, this.options.pace);
      }
    }
  }

  #request(
    stream: ServedStream,
    headers: HeaderList,
    peer: Peer,
    accounts: RequestAccounts,
    options: GrpcTurnOptions,
  ): void {
    const method = headerValue(headers, ":method");
    if (method !== "POST" || !isGrpc(headerValue(headers, "content-type"))) {
      stream.receiver = new NoGrpc(stream, method === "HEAD");
      return;
    }
    const path = headerValue(headers, ":path") ?? "";
    const binding = this.options.router.method(path);
    if (!binding) return refuse(stream, new ConnectError(unknown(path), Code.Unimplemented));
    let request: GrpcRequest;
    try {
      request = new GrpcRequest(headers, stream, { takesOne: takesOne(binding), accounts });
    } catch (error) {
      return refuse(stream, ConnectError.from(error));
    }
    stream.receiver = request;
    answer(new GrpcTurn(binding, request, peer, options));
  }
}

/** A subtype may follow; all are answered as protobuf, whose name they have. */
function isGrpc(contentType: string | undefined): boolean {
  return contentType === "application/grpc" ||
    /^application\/grpc\s*([+;]|$)/i.test(contentType ?? "");
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
