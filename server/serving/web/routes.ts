/** What the server answers to requests that are no RPC. */
import type { Peer } from "../../../shared/rpc/server/peer.ts";

/** A reading of the sensor may stand in a reason. Characters. */
const LONGEST_REASON = 500;

/** Whether the agent may restart the server now. */
export interface RestartAnswer {
  readonly allowed: boolean;
  /** Why not; empty when it may. */
  readonly reason: string;
  /** A configuration is being applied, which nobody's word makes a good moment. Default false. */
  readonly isReconfiguring?: boolean;
}

export interface RouteOptions {
  restartAllowed: () => Promise<RestartAnswer>;
  /** Whether the cloud answered last time; undefined without a cloud. */
  cloudReached?: () => boolean | undefined;
  /** Answers what these routes do not know; undefined where it does not know it either. */
  others?: (request: Request, peer: Peer) => Promise<Response> | undefined;
}

/** `GET /` for health checks and people, `GET /restart_status` for the agent on the same host, not through a proxy. */
export function createRoutes(
  options: RouteOptions,
): (request: Request, peer: Peer) => Promise<Response> {
  return async (request, peer) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/" && pathname !== "/restart_status") {
      return await options.others?.(request, peer) ?? text("not found\n", 404);
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      return text("only GET is allowed here\n", 405);
    }
    if (pathname === "/") {
      return text("This is a machine-server. Manage the machine in its cloud's console.\n", 200);
    }
    if (!peer.local || isPassedOn(request.headers)) return text("forbidden\n", 403);
    const reached = options.cloudReached?.();
    const { allowed, reason, isReconfiguring = false } = await options.restartAllowed();
    return Response.json({
      restart_allowed: allowed,
      ...(reason !== "" && { reason: reason.slice(0, LONGEST_REASON) }),
      ...(isReconfiguring && { is_reconfiguring: true }),
      does_not_handle_needs_restart: true,
      ...(reached !== undefined && { cloud_reached: reached }),
    });
  };
}

/** What proxies add: the caller is whoever they speak for, not a program on this host. */
const FORWARDING_HEADERS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "cf-connecting-ip",
  "true-client-ip",
];

function isPassedOn(headers: Headers): boolean {
  return FORWARDING_HEADERS.some((name) => headers.has(name));
}

function text(body: string, status: number): Response {
  return new Response(body, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}
