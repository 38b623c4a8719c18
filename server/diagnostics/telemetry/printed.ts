/** Spans and metrics as lines for people. */
import { type Attributes, type HrTime, SpanStatusCode } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import {
  AggregationTemporality,
  DataPointType,
  type Histogram,
  type MetricData,
  type PushMetricExporter,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { MODULE_ATTRIBUTE } from "./module_spans.ts";

type Done = (result: ExportResult) => void;

/**
 * `span viam.robot.v1.RobotService/GetVersion 0.42 ms OK trace=… span=… parent=…`, one a line; with
 * ` module=…` behind it for a span that a module sent.
 */
export class PrintedSpans implements SpanExporter {
  constructor(private readonly write: (text: string) => void) {}

  export(spans: ReadableSpan[], done: Done): void {
    this.write(spans.map(spanLine).join(""));
    done({ code: ExportResultCode.SUCCESS });
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }
}

function spanLine(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext();
  const parent = span.parentSpanContext ? ` parent=${span.parentSpanContext.spanId}` : "";
  const outcome = span.status.code === SpanStatusCode.ERROR
    ? `failed (${oneLine(span.status.message ?? "")})`
    : "OK";
  const module = span.resource.attributes[MODULE_ATTRIBUTE];
  return `span ${oneLine(span.name)} ${milliseconds(span.duration)} ms ${outcome} ` +
    `trace=${traceId} span=${spanId}${parent}${module === undefined ? "" : ` module=${module}`}\n`;
}

/** `metric NAME{attribute=value} VALUE`, one a line; histograms as count, mean and extremes. */
export class PrintedMetrics implements PushMetricExporter {
  constructor(private readonly write: (text: string) => void) {}

  export({ scopeMetrics }: ResourceMetrics, done: Done): void {
    this.write(scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(metricLines)).join(""));
    done({ code: ExportResultCode.SUCCESS });
  }

  selectAggregationTemporality(): AggregationTemporality {
    return AggregationTemporality.CUMULATIVE;
  }

  forceFlush(): Promise<void> {
    return Promise.resolve();
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }
}

function metricLines(metric: MetricData): string[] {
  const { name, unit } = metric.descriptor;
  const line = (attributes: Attributes, value: string) =>
    `metric ${name}${labels(attributes)} ${value}\n`;
  const suffix = unit === "" ? "" : ` ${unit}`;
  switch (metric.dataPointType) {
    case DataPointType.HISTOGRAM:
      return metric.dataPoints.map(({ attributes, value }) =>
        line(attributes, histogramText(value, suffix))
      );
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return metric.dataPoints.map(({ attributes, value }) =>
        line(attributes, `count=${value.count}`)
      );
    default:
      return metric.dataPoints.map(({ attributes, value }) =>
        line(attributes, `${value}${suffix}`)
      );
  }
}

function histogramText({ count, sum = 0, min = 0, max = 0 }: Histogram, unit: string): string {
  const mean = count === 0 ? 0 : sum / count;
  return `count=${count} min=${round(min)} mean=${round(mean)} max=${round(max)}${unit}`;
}

function labels(attributes: Attributes): string {
  const parts = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

function milliseconds([seconds, nanoseconds]: HrTime): number {
  return round(seconds * 1e3 + nanoseconds / 1e6);
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
