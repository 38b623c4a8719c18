/** The OpenTelemetry libraries at work. Loaded only when telemetry is requested. */
import {
  type Attributes,
  type Counter,
  type Histogram,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { Code } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { ResourceSpans } from "../../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import type { Call, CallOutcome } from "../../../shared/rpc/server/interceptor.ts";
import { LeftOut } from "../../../shared/log/left_out.ts";
import { Allowance } from "../../../shared/base/time/allowance.ts";
import { collectorExporter } from "./collector.ts";
import { DiskExporter } from "./disk_exporter.ts";
import { moduleSpans } from "./module_spans.ts";
import { PrintedMetrics, PrintedSpans } from "./printed.ts";
import { ReportingExporter } from "./reporting_exporter.ts";
import type { TelemetryOptions, TraceHeaders } from "./telemetry_options.ts";

/** What is wanted. */
export interface PipelineSettings {
  /** Print metrics. */
  readonly metrics: boolean;
  /** Print spans. */
  readonly spans: boolean;
  /** Write spans into files of this folder. */
  readonly folder: string | undefined;
  /** Send spans to this OTLP address. */
  readonly collector: string | undefined;
}

const METRICS_INTERVAL_MS = 10_000;
/** Spans wait so long for others to go with. Milliseconds. */
const BATCH_MS = 1_000;
/** At the end a collector that does not answer is left. Milliseconds. */
const CLOSE_MS = 3_000;
/** Spans a second that all modules together may send for long; a burst may be twice as many. The
 * rest of what an exporter takes, some 2,000, is for our own. */
const MODULE_SPANS_PER_SECOND = 500;

const headers: TextMapGetter<Call> = {
  keys: () => [],
  get: (call, key) => call.header(key),
};
const propagator = new W3CTraceContextPropagator();

export class Pipeline {
  readonly #tracer: Tracer;
  readonly #spans = new WeakMap<Call, Span>();
  readonly #calls: Counter;
  readonly #durations: Histogram;
  readonly #moduleSpans: Allowance;
  readonly #leftOut: LeftOut;

  private constructor(
    private readonly tracers: TracerProvider,
    private readonly processors: readonly SpanProcessor[],
    private readonly meters: MeterProvider,
    options: TelemetryOptions,
  ) {
    const { clock, log } = options;
    this.#leftOut = new LeftOut(clock, (count) =>
      log.warn(
        `${count} spans of modules were left out: more than ${MODULE_SPANS_PER_SECOND} a second ` +
          "are too many",
      ));
    this.#moduleSpans = new Allowance(MODULE_SPANS_PER_SECOND, 2 * MODULE_SPANS_PER_SECOND, clock);
    this.#tracer = tracers.getTracer("machine-server", options.version);
    const meter = meters.getMeter("machine-server", options.version);
    this.#calls = meter.createCounter("rpc.server.calls", { description: "Calls answered" });
    this.#durations = meter.createHistogram("rpc.server.call.duration", {
      unit: "ms",
      description: "Time to answer a call",
    });
    meter.createObservableGauge("machine.resources", { description: "Resources by state" })
      .addCallback((result) => {
        for (const [state, count] of Object.entries(options.resourceStates())) {
          result.observe(count, { state });
        }
      });
    meter.createObservableGauge("process.memory", { unit: "By", description: "Memory in use" })
      .addCallback((result) => {
        const { rss, heapUsed } = Deno.memoryUsage();
        result.observe(rss, { kind: "resident" });
        result.observe(heapUsed, { kind: "heap" });
      });
  }

  /** @throws when the folder or the collector's address cannot be used. */
  static async start(settings: PipelineSettings, options: TelemetryOptions): Promise<Pipeline> {
    const resource = resourceFromAttributes({
      "service.name": "machine-server",
      "service.version": options.version,
    });
    const exporters: SpanExporter[] = [];
    if (settings.spans) exporters.push(new PrintedSpans(options.write));
    if (settings.folder !== undefined) {
      exporters.push(reported("the folder of traces", await DiskExporter.open(settings.folder)));
    }
    if (settings.collector !== undefined) {
      const exporter = await collectorExporter(settings.collector);
      exporters.push(reported(`the collector ${settings.collector}`, exporter));
    }
    const processors = exporters.map((exporter) =>
      new BatchSpanProcessor({ exporter, scheduledDelayMillis: BATCH_MS })
    );
    const tracers = new TracerProvider({ resource, spanProcessors: processors });
    return new Pipeline(tracers, processors, metersOf(settings, options, resource), options);

    function reported(what: string, exporter: SpanExporter): SpanExporter {
      return new ReportingExporter(what, exporter, options.log);
    }
  }

  /** A call begins, as a part of the trace that its headers name, or of one of its own. */
  begin(call: Call): TraceHeaders {
    const parent = propagator.extract(ROOT_CONTEXT, call, headers);
    const span = this.#tracer.startSpan(call.path.slice(1), {
      kind: SpanKind.SERVER,
      attributes: {
        ...methodOf(call),
        "network.transport": call.peer.transport,
        "client.address": call.peer.address,
      },
    }, parent);
    this.#spans.set(call, span);
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    const state = traceState?.serialize();
    return {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
      ...(state && { tracestate: state }),
    };
  }

  /** A call that began before the pipeline has metrics but no span. */
  end(call: Call, { code, error, durationMs }: CallOutcome): void {
    const status = code === undefined ? "OK" : Code[code] ?? String(code);
    const attributes = { ...methodOf(call), "rpc.response.status": status };
    this.#calls.add(1, attributes);
    this.#durations.record(durationMs, attributes);
    const span = this.#spans.get(call);
    if (!span) return;
    span.setAttribute("rpc.grpc.status_code", code ?? 0);
    if (code !== undefined) {
      const message = toError(error).message;
      span.setStatus({ code: SpanStatusCode.ERROR, message });
    }
    span.end();
  }

  /**
   * Takes the spans of a module to where ours go. What is more than the exporters take for long is
   * left out, and reported.
   *
   * @throws {ConnectError} INVALID_ARGUMENT; then none of them is taken.
   */
  take(sent: readonly ResourceSpans[], module: string): void {
    if (this.processors.length === 0) return;
    for (const span of moduleSpans(sent, module, () => this.#hasRoom())) {
      for (const processor of this.processors) processor.onEnd(span);
    }
  }

  #hasRoom(): boolean {
    if (this.#moduleSpans.shortMs() > 0) {
      this.#leftOut.add();
      return false;
    }
    this.#leftOut.room();
    this.#moduleSpans.spend(1);
    return true;
  }

  /** Exports what is left, for a few seconds at most. */
  async close(): Promise<void> {
    this.#leftOut.end();
    const ended = Promise.allSettled([this.tracers.shutdown(), this.meters.shutdown()]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => timer = setTimeout(resolve, CLOSE_MS));
    await Promise.race([ended, late]);
    clearTimeout(timer);
  }
}

function metersOf(
  settings: PipelineSettings,
  options: TelemetryOptions,
  resource: Resource,
): MeterProvider {
  const interval = options.metricsIntervalMs ?? METRICS_INTERVAL_MS;
  const reader = () =>
    new PeriodicExportingMetricReader({
      exporter: new PrintedMetrics(options.write),
      exportIntervalMillis: interval,
      exportTimeoutMillis: interval,
    });
  return new MeterProvider({ resource, readers: settings.metrics ? [reader()] : [] });
}

function methodOf(call: Call): Attributes {
  return {
    "rpc.system": "grpc",
    "rpc.service": call.service.typeName,
    "rpc.method": call.method.name,
  };
}
