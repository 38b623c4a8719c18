import { DEFAULT_CONNECTION_LIMITS } from "../../../shared/rpc/server/connection_limits.ts";
import { PlainHttp } from "../../../shared/rpc/server/plain_http.ts";
import { pacedBody } from "../../../shared/rpc/server/paced_body.ts";
import { PACE } from "../../../shared/rpc/server/request_pace.ts";
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
  const server = await PlainHttp.listen({
    listen: { hostname: address, port: tcpPort },
    limits: {
      ...DEFAULT_CONNECTION_LIMITS,
      ...CONNECTIONS,
      handshakeMs: waitMs,
      headersMs: waitMs,
      idleMs: waitMs,
    },
    admit: onlyFromHotspot(address),
    answer: (request, from) => portalOf().answer(pacedPost(request, waitMs), from),
    onRefused: (from, reason) => log.debug("refused a connection", { from, reason }),
    onError: (error) => log.error("a request failed", { event: "call_failed", error }),
  });
  const served = server.address.port;
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
      await server.close();
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
