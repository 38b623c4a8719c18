import { Code, ConnectError } from "@connectrpc/connect";
import type { AddressList } from "./address_list.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./connection_limits.ts";
import { CallDeadlines } from "./deadlines.ts";
import { Edge, type EdgeOptions } from "./edge.ts";
import type { ListenAddress } from "./listen.ts";
import { toCallerError, type UnexpectedErrorReporter } from "./errors.ts";
import { GrpcServer } from "./grpc_server.ts";
import { HealthService } from "./health.ts";
import type { Interceptor } from "./interceptor.ts";
import { pacedRequest } from "./paced_body.ts";
import type { Peer } from "./peer.ts";
import { RequestBudgets } from "./request_budget.ts";
import { PACE, type Pace } from "./request_pace.ts";
import { mountReflection } from "./reflection.ts";
import type { RpcRouter } from "./router.ts";
import { RunningCalls } from "./running_calls.ts";
import { WebHandlers } from "./web_handlers.ts";

/** Lets what was just said leave the process, where somebody receives it. */
const flush = async (edge: Edge) => {
  if (edge.isConnected) await new Promise((resolve) => setTimeout(resolve, 20));
};

const text = (body: string, status: number) =>
  new Response(body, { status, headers: { "content-type": "text/plain; charset=utf-8" } });

/** Answers a request that is no RPC. The signal aborts when its caller left. */
export type HttpHandler = (
  request: Request,
  peer: Peer,
  signal: AbortSignal,
) => Response | Promise<Response>;

export interface RpcServerOptions {
  readonly router: RpcRouter;
  readonly listen: ListenAddress;
  /** Run around every call, on every transport. Default none. */
  readonly interceptors?: readonly Interceptor[];
  /** Answers requests that are no RPC. Default: 404. */
  readonly http?: HttpHandler;
  /**
   * Why a connection is closed before a byte of it is read; undefined: it is taken. Default: all
   * are. Must be quick.
   */
  readonly admit?: EdgeOptions["admit"];
  /** Close connections of HTTP/1.1, and with that serve neither gRPC-web nor Connect. */
  readonly http2Only?: boolean;
  /**
   * Why a request over HTTP/1.1 is answered 403 with that text, before any of its body is read;
   * undefined: it is let in. Default: all are. `isCall` distinguishes an RPC or its preflight from
   * the rest.
   */
  readonly refuse?: (request: Request, isCall: () => boolean) => string | undefined;
  /** PEM texts of certificate (with chain) and key. Default: plaintext. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly limits?: Partial<ConnectionLimits>;
  /** What of requests may wait for the rest or for their handlers. Default: limits of its own. */
  readonly budgets?: RequestBudgets;
  /** How fast requests must come. Default: {@link PACE}. */
  readonly pace?: Pace;
  /** See {@link EdgeOptions}. */
  readonly balancers?: AddressList | undefined;
  /** See {@link EdgeOptions}. */
  readonly nodeTls?: boolean;
  /** Notified of errors that handlers did not mean for callers. Default: nobody is notified. */
  readonly report?: UnexpectedErrorReporter;
  /** Notified of connections that were turned away. Default: nobody is notified. */
  readonly onRefused?: (address: string, reason: string) => void;
}

/**
 * A process's public port: gRPC, gRPC-web, Connect, reflection, health and plain HTTP behind one
 * address. WebRTC joins as one more transport over the same router and interceptors.
 */
export class RpcServer {
  private constructor(
    private readonly edge: Edge,
    readonly health: HealthService,
    private readonly stop: (graceMs: number) => Promise<void>,
    private readonly moveClients: (withinMs: number, random: () => number) => Promise<void>,
  ) {}

  /** Starts to serve. Throws `PortInUseError` when the address is taken. */
  static async start(options: RpcServerOptions): Promise<RpcServer> {
    const { router, interceptors = [], report = () => undefined } = options;
    const http = options.http ?? (() => new Response("not found\n", { status: 404 }));
    const stopped = new AbortController();
    const deadlines = new CallDeadlines();
    const running = new RunningCalls();
    const health = new HealthService(router);
    router.service(HealthService.descriptor, health.implementation);
    mountReflection(router);

    const { signal } = stopped;
    const budgets = options.budgets ?? new RequestBudgets();
    const pace = options.pace ?? PACE;
    const common = { router, interceptors, report, signal, budgets, pace };
    const web = new WebHandlers(common);
    const edgeOf = (): Edge => edge;
    const httpServer = Deno.serve(
      {
        hostname: "127.0.0.1",
        port: 0,
        onListen: () => undefined,
        onError: (error) => {
          const { message } = toCallerError(error, "a request over HTTP/1.1", report);
          return text(`${message}\n`, 500);
        },
      },
      async (request, info) => {
        const caller = edgeOf().behindPrivate(info.remoteAddr as Deno.NetAddr);
        if (!caller) return text("forbidden\n", 403);
        caller.times.began();
        running.begin();
        const gone = new AbortController();
        const left = () => gone.abort(new ConnectError("the caller went away", Code.Canceled));
        caller.whenClosed.add(left);
        const ended = () => {
          running.end();
          caller.times.ended();
          caller.whenClosed.delete(left);
        };
        info.completed.then(ended, ended);
        if (!URL.canParse(request.url)) return text("the Host or the path is malformed\n", 400);
        // None of these can be made again from its parts; nothing here answers them.
        if (/^(TRACE|TRACK|CONNECT)$/i.test(request.method)) return text("no such method\n", 405);
        const refused = options.refuse?.(request, () => web.isCall(request));
        if (refused !== undefined) return text(`${refused}\n`, 403);
        return await web.handle(request, caller, info.completed) ??
          await http(pacedRequest(request, { pace, isOpen: false }), caller.peer, gone.signal);
      },
    );
    const grpc = new GrpcServer({ ...common, deadlines, running });
    const close = async (graceMs: number) => {
      const startedAt = performance.now();
      edge.stopAccepting();
      health.shutdown();
      await flush(edge);
      stopped.abort(new Error("the server is shutting down"));
      await running.none(graceMs);
      // An answer is on its way out only with the next turns; a session that closes loses it.
      await flush(edge);
      edge.endHttp();
      const force = setTimeout(() => {
        grpc.destroy();
        edge.destroy();
      }, Math.max(0, graceMs - (performance.now() - startedAt)));
      await Promise.all([grpc.drain(), httpServer.shutdown()]);
      clearTimeout(force);
      edge.destroy();
      deadlines.close();
    };
    let edge: Edge;
    try {
      edge = await Edge.listen({
        listen: options.listen,
        tls: options.tls,
        limits: { ...DEFAULT_CONNECTION_LIMITS, ...options.limits },
        balancers: options.balancers,
        admit: options.admit,
        http2Only: options.http2Only ?? false,
        ...(options.nodeTls !== undefined && { nodeTls: options.nodeTls }),
        httpPort: (httpServer.addr as Deno.NetAddr).port,
        onHttp2: (socket, peer) => grpc.accept(socket, peer),
        onRefused: options.onRefused ?? (() => undefined),
      });
    } catch (error) {
      deadlines.close();
      stopped.abort();
      grpc.destroy();
      await httpServer.shutdown();
      throw error;
    }
    const leave = async (withinMs: number, random: () => number) => {
      edge.stopAccepting();
      health.shutdown();
      await grpc.leave(withinMs, random);
    };
    return new RpcServer(edge, health, close, leave);
  }

  /** Where the server listens; the real port when 0 was requested. */
  get address(): { hostname: string; port: number } {
    return this.edge.address;
  }

  /** Serves connections from now on with another certificate, which must have been checked. */
  setCertificate(tls: { readonly cert: string; readonly key: string }): void {
    this.edge.setCertificate(tls);
  }

  /**
   * Stops to accept, and sends clients of gRPC elsewhere, each at a moment of its own within a time:
   * no call of theirs fails, and streams end with UNAVAILABLE. {@link close} it then.
   *
   * @param random numbers in [0, 1)
   */
  leave({ withinMs, random = Math.random }: {
    readonly withinMs: number;
    readonly random?: () => number;
  }): Promise<void> {
    return this.moveClients(withinMs, random);
  }

  /**
   * Stops to accept, ends streams with UNAVAILABLE, lets running calls finish for `graceMs`, then
   * ends what is left.
   */
  close(options: { graceMs: number }): Promise<void> {
    return this.stop(options.graceMs);
  }
}
