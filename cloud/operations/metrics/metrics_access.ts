import { createHash, timingSafeEqual } from "node:crypto";
import type { ListenAddress } from "../../api/addresses/addresses.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../../shared/rpc/server/connection_limits.ts";
import { PlainHttp } from "../../../shared/rpc/server/plain_http.ts";
import type { Metrics } from "./metrics.ts";

/** `/metrics` for who has the token; for others there is nothing. */
export function metricsRoute(
  metrics: Pick<Metrics, "render">,
  token: string,
): (authorization: string | undefined) => Promise<Response> {
  const expected = digest(`Bearer ${token}`);
  return async (authorization) => {
    if (timingSafeEqual(digest(authorization ?? ""), expected)) return await metrics.render();
    return Response.json({ error: "the header Authorization: Bearer TOKEN is missing or wrong" }, {
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
  };
}

function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/** Descriptors; each connection takes three. */
const CONNECTIONS = { total: 600, perAddress: 150 };

/** Serves `/metrics` on a port of its own, to everybody who reaches it. @throws when it is taken */
export async function listenForMetrics(
  metrics: Pick<Metrics, "render">,
  listen: ListenAddress,
  log: Logger,
): Promise<PlainHttp> {
  return await PlainHttp.listen({
    listen,
    limits: { ...DEFAULT_CONNECTION_LIMITS, ...CONNECTIONS },
    answer: ({ method, url }) => {
      if (method === "GET" && new URL(url).pathname === "/metrics") return metrics.render();
      return new Response("not found; there is /metrics\n", { status: 404 });
    },
    onRefused: (from, reason) => log.debug("refused a connection", { from, reason }),
    onError: (error) => log.error("a request failed", { event: "call_failed", error }),
  });
}
