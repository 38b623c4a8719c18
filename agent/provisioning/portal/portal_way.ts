import { DEFAULT_CONNECTION_LIMITS } from "../../../shared/rpc/server/connection_limits.ts";
import { Edge } from "../../../shared/rpc/server/edge.ts";
import { pacedBody } from "../../../shared/rpc/paced_body.ts";
import { PACE } from "../../../shared/rpc/request_pace.ts";
import { DelayedCommit } from "../delayed_commit.ts";
import { onlyFromHotspot } from "../hotspot_peers.ts";
import type { ProvisioningSite, ProvisioningWay, WayDeps } from "../provisioning_way.ts";
import { Portal } from "./portal.ts";

export interface PortalWayOptions {
  /** Of the hotspot's address. Default 80, where phones look; 0: any free one. */
  readonly tcpPort?: number;
  /** How long headers, bodies and the next request may take, in milliseconds. Default 10 s. */
  readonly waitMs?: number;
}

/** Descriptors; each connection takes three. A phone opens some eight at once. */
const CONNECTIONS = { total: 192, perAddress: 48 };
const WAIT_MS = 10_000;

/** The captive portal: plain HTTP on the hotspot, to nobody else. */
export function portalWay(
  { clock, log }: Pick<WayDeps, "clock" | "log">,
  { tcpPort = 80, waitMs = WAIT_MS }: PortalWayOptions = {},
): ProvisioningWay {
  return {
    name: "portal",
    over: "hotspot",
    start: (site) => startPortal(site, { clock, log, tcpPort, waitMs }),
  };
}

async function startPortal(
  { port, address, settings, name }: ProvisioningSite,
  { clock, log, tcpPort, waitMs }: Pick<WayDeps, "clock" | "log"> & Required<PortalWayOptions>,
): Promise<AsyncDisposable> {
  const commit = new DelayedCommit(port, clock, log);
  const portalOf = (): Portal => portal;
  const edgeOf = (): Edge => edge;
  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => undefined,
      onError: (error) => {
        log.error("a request failed", { error });
        return new Response("internal error\n", { status: 500 });
      },
    },
    async (request, info) => {
      const caller = edgeOf().behindPrivate(info.remoteAddr as Deno.NetAddr);
      if (!caller) return new Response("forbidden\n", { status: 403 });
      caller.times.began();
      const ended = () => caller.times.ended();
      info.completed.then(ended, ended);
      if (!URL.canParse(request.url)) return new Response("malformed\n", { status: 400 });
      return await portalOf().answer(pacedPost(request, waitMs), caller.peer.address);
    },
  );
  let edge: Edge;
  try {
    edge = await Edge.listen({
      listen: { hostname: address, port: tcpPort },
      limits: {
        ...DEFAULT_CONNECTION_LIMITS,
        ...CONNECTIONS,
        handshakeMs: waitMs,
        headersMs: waitMs,
        idleMs: waitMs,
      },
      proxyProtocol: false,
      admit: onlyFromHotspot(address),
      onHttp2: (socket) => socket.destroy(),
      httpPort: (server.addr as Deno.NetAddr).port,
      onRefused: (from, reason) => log.debug("refused a connection", { from, reason }),
    });
  } catch (error) {
    await server.shutdown();
    throw error;
  }
  const served = edge.address.port;
  const portal = new Portal({
    port,
    commit,
    naming: { address, port: served, onlySetupNames: settings.disable_captive_portal_redirect },
    hotspot: name,
    clock,
  });
  log.info("serving the portal", { address, port: served });
  return {
    [Symbol.asyncDispose]: async () => {
      commit[Symbol.dispose]();
      edge.stopAccepting();
      edge.destroy();
      await server.shutdown();
    },
  };
}

/** A form whose body must come in time. */
function pacedPost(request: Request, waitMs: number): Request {
  if (request.method !== "POST" || !request.body) return request;
  const { url, method, headers } = request;
  const options = { pace: { ...PACE, openMs: waitMs }, isOpen: true };
  // Not made of the request itself: its signal, which nobody needs here, would be touched.
  return new Request(url, {
    method,
    headers,
    body: ReadableStream.from(pacedBody(request.body, options)),
  });
}
