/** What the server answers to requests that are no RPC. */
import type { Peer } from "../../shared/rpc/peer.ts";

export interface RouteOptions {
  /** Whether the agent may restart the server now. */
  restartAllowed: () => Promise<boolean>;
  /** Whether the cloud answered last time; undefined without a cloud. */
  cloudReached?: () => boolean | undefined;
  /** Answers what these routes do not know; undefined where it does not know it either. */
  others?: (request: Request, peer: Peer) => Promise<Response> | undefined;
}

/** `GET /` for health checks and people, `GET /restart_status` for the agent on the same host. */
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
    if (!peer.local) return text("forbidden\n", 403);
    const reached = options.cloudReached?.();
    return Response.json({
      restart_allowed: await options.restartAllowed(),
      does_not_handle_needs_restart: true,
      ...(reached !== undefined && { cloud_reached: reached }),
    });
  };
}

function text(body: string, status: number): Response {
  return new Response(body, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}
