/** The way to a collector of traces, by the form of `tracing.otlpendpoint`. */
import type { SpanExporter } from "@opentelemetry/sdk-trace";

/** The collector's address cannot be read. */
class CollectorAddressError extends Error {
  override readonly name = "CollectorAddressError";
}

/** How spans travel. */
export interface CollectorAddress {
  readonly protocol: "http" | "grpc";
  readonly url: string;
}

const SIGNAL_PATH = "/v1/traces";
const SEND_TIMEOUT_MS = 10_000;

/**
 * - `http://host:4318`, `https://…`: OTLP over HTTP, to `/v1/traces` where there is no path;
 * - `host:4317`, `grpc://host:4317`: OTLP over gRPC in plaintext; `grpcs://…` with TLS.
 *
 * @throws {CollectorAddressError}
 */
export function parseCollectorAddress(text: string): CollectorAddress {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text);
  const address = hasScheme ? text : `grpc://${text}`;
  if (URL.canParse(address)) {
    const url = new URL(address);
    if (url.hostname !== "") {
      switch (url.protocol) {
        case "http:":
        case "https:":
          if (url.pathname === "/") url.pathname = SIGNAL_PATH;
          return { protocol: "http", url: url.href };
        case "grpc:":
          return { protocol: "grpc", url: `http://${url.host}` };
        case "grpcs:":
          return { protocol: "grpc", url: `https://${url.host}` };
      }
    }
  }
  throw new CollectorAddressError(
    `tracing.otlpendpoint: found ${JSON.stringify(text)}, allowed: http://host:port, ` +
      "https://host:port, or for gRPC host:port, grpc://host:port, grpcs://host:port",
  );
}

/** @throws {CollectorAddressError} */
export async function collectorExporter(text: string): Promise<SpanExporter> {
  const { protocol, url } = parseCollectorAddress(text);
  if (protocol === "http") {
    const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
    return new OTLPTraceExporter({ url, timeoutMillis: SEND_TIMEOUT_MS });
  }
  const { GrpcExporter } = await import("./grpc_exporter.ts");
  return new GrpcExporter(url, SEND_TIMEOUT_MS);
}
