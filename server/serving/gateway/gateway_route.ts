import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { Gateway, GatewayOptions } from "./gateway.ts";

/**
 * Answers what is below `/api`, and gives undefined for everything else. The gateway is loaded with
 * the first request for it.
 */
export function gatewayRoute(
  options: GatewayOptions,
): (request: Request, peer: Peer) => Promise<Response> | undefined {
  let loading: Promise<Gateway> | undefined;
  const load = async () => {
    const { Gateway } = await import("./gateway.ts");
    return new Gateway(options);
  };
  return (request, peer) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/api" && !pathname.startsWith("/api/")) return undefined;
    loading ??= load();
    return loading.then((gateway) => gateway.answer(request, peer));
  };
}
