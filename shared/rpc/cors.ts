/** What browsers get to know about calls from pages of other origins. */

const exposedHeaders = "grpc-status, grpc-message, grpc-status-details-bin, viam-smrn";

/**
 * Any origin that got here may call: no cookie or other ambient credential counts here, only a
 * token in the request; a server that wants none has a `refuse` that decides. SDKs in browsers send some requests with credentials included, which needs the origin
 * by name.
 */
export function corsHeaders(origin: string | null): [string, string][] {
  if (origin === null) return [];
  return [
    ["access-control-allow-origin", origin],
    ["access-control-allow-credentials", "true"],
    ["access-control-expose-headers", exposedHeaders],
    ["vary", "origin"],
  ];
}

export function preflightHeaders(origin: string | null): [string, string][] {
  return [
    ...corsHeaders(origin),
    ["access-control-allow-methods", "GET, POST, OPTIONS"],
    [
      "access-control-allow-headers",
      "content-type, authorization, connect-protocol-version, connect-timeout-ms, grpc-timeout, " +
      "x-grpc-web, x-user-agent, viam_client, rpc-host, viam-sid, dtname, opid",
    ],
    ["access-control-max-age", "7200"],
  ];
}
