import { createHash, timingSafeEqual } from "node:crypto";
import type { ListenAddress } from "../../api/addresses/addresses.ts";
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

/** Serves `/metrics` on a port of its own, to everybody who reaches it. @throws when it is taken */
export function listenForMetrics(
  metrics: Pick<Metrics, "render">,
  { hostname, port }: ListenAddress,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve(
    { hostname: hostname || "0.0.0.0", port, onListen: () => undefined },
    (request) => {
      const { pathname } = new URL(request.url);
      if (request.method === "GET" && pathname === "/metrics") return metrics.render();
      return new Response("not found; there is /metrics\n", { status: 404 });
    },
  );
}
