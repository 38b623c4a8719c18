import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { Code } from "@connectrpc/connect";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Call, Interceptor } from "../../../shared/rpc/server/interceptor.ts";

export interface TracesOptions {
  /** Where spans go by OTLP over HTTP, `/v1/traces` included. */
  readonly url: string;
  readonly version: string;
  readonly log: Logger;
  /** For tests; left out: OTLP over HTTP. */
  readonly exporter?: SpanExporter;
}

/** Spans wait so long for others to go with. Milliseconds. */
const BATCH_MS = 1_000;
const SEND_TIMEOUT_MS = 5_000;
/** At the end a collector that does not answer is left. Milliseconds. */
const CLOSE_MS = 3_000;

/**
 * A span of OpenTelemetry for each call; the caller's trace continues in it. Loaded when requested.
 */
export class Traces {
  readonly #tracer: Tracer;
  readonly #provider: TracerProvider;
  readonly #processor: BatchSpanProcessor;
  readonly #spans = new WeakMap<Call, Span>();

  constructor(options: TracesOptions) {
    const { url, version, log } = options;
    const exporter = options.exporter ??
      new OTLPTraceExporter({ url, timeoutMillis: SEND_TIMEOUT_MS });
    this.#processor = new BatchSpanProcessor({
      exporter: reported(exporter, url, log),
      scheduledDelayMillis: BATCH_MS,
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        "service.name": "machine-cloud",
        "service.version": version,
      }),
      spanProcessors: [this.#processor],
    });
    this.#tracer = this.#provider.getTracer("machine-cloud", version);
  }

  readonly interceptor: Interceptor = {
    before: (call) => {
      const parent = propagator.extract(ROOT_CONTEXT, call, {
        keys: () => [],
        get: (from, key) => from.header(key),
      });
      const [service = "", method = ""] = call.path.replace(/^\//, "").split("/");
      const attributes = {
        "rpc.system": "grpc",
        "rpc.service": service,
        "rpc.method": method,
        "client.address": call.peer.address,
      };
      const name = `${service}/${method}`;
      const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
      this.#spans.set(call, span);
    },
    after: (call, { code }) => {
      const span = this.#spans.get(call);
      if (code !== undefined) {
        span?.setAttribute("rpc.grpc.status_code", code);
        span?.setStatus({ code: SpanStatusCode.ERROR, message: Code[code] ?? String(code) });
      }
      span?.end();
    },
  };

  /** Sends what waits. */
  async close(): Promise<void> {
    const sent = this.#processor.shutdown().catch(() => undefined); // Said by the exporter.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise<void>((done) => timer = setTimeout(done, CLOSE_MS));
    await Promise.race([sent, patience]);
    clearTimeout(timer);
  }
}

const propagator = new W3CTraceContextPropagator();

/** Says once when spans cannot be sent, and once when they can again. */
function reported(exporter: SpanExporter, url: string, log: Logger): SpanExporter {
  let isDown = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const fails = result.code !== 0;
        if (fails && !isDown) {
          log.warn("cannot send traces; they are left out until it works", {
            event: "tracing_failed",
            ...{ url, error: String(result.error?.message ?? "no answer") },
          });
        }
        if (!fails && isDown) log.info("sending traces again", { url });
        isDown = fails;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush!() }),
  };
}
