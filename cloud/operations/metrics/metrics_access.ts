import { createHash, timingSafeEqual } from "node:crypto";
import type { ListenAddress } from "../../api/addresses/addresses.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../../shared/rpc/server/connection_limits.ts";
import { PlainHttp } from "../../../shared/rpc/server/plain_http.ts";
import type { ReadinessCheck } from "../readiness/readiness.ts";
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

/**
 * Serves `/metrics`, `/readyz` and `/healthz` on a port of its own, to everybody who reaches it.
 *
 * @throws when it is taken
 */
export async function listenForMetrics(
  { metrics, readiness }: {
    readonly metrics: Pick<Metrics, "render">;
    readonly readiness: Pick<ReadinessCheck, "answer">;
  },
  listen: ListenAddress,
  log: Logger,
): Promise<PlainHttp> {
  return await PlainHttp.listen({
    listen,
    limits: { ...DEFAULT_CONNECTION_LIMITS, ...CONNECTIONS },
    answer: ({ method, url }) => {
      switch (method === "GET" ? new URL(url).pathname : "") {
        case "/metrics":
          return metrics.render();
        case "/readyz":
          return readiness.answer();
        case "/healthz":
          return Response.json({ status: "ok" });
        default:
          return new Response("not found; there are /metrics, /readyz and /healthz\n", {
            status: 404,
          });
      }
    },
    onRefused: (from, reason) => log.debug("refused a connection", { from, reason }),
    onError: (error) => log.error("a request failed", { event: "call_failed", error }),
  });
}
