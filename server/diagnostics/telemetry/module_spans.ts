/** Spans that modules send by `RobotService/SendTraces`, in the form that ours have. Pure. */
import {
  type Attributes,
  createTraceState,
  type HrTime,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import type {
  AnyValue,
  KeyValue,
} from "../../../shared/gen/opentelemetry/proto/common/v1/common_pb.ts";
import {
  type ResourceSpans,
  type ScopeSpans,
  type Span,
  Status_StatusCode,
} from "../../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";

/** Attribute of the resource that shows which module a span is of. */
export const MODULE_ATTRIBUTE = "machine.module";

// The limits of the OpenTelemetry specification for SDKs, and one for texts, where it has none.
const MOST_ATTRIBUTES = 128;
const MOST_EVENTS = 128;
const MOST_LINKS = 128;
const LONGEST_TEXT = 4096;
const LONGEST_NAME = 512;
/** Lists and maps inside one another. */
const DEEPEST_VALUE = 5;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

const STATUS: Readonly<Record<number, SpanStatusCode>> = {
  [Status_StatusCode.OK]: SpanStatusCode.OK,
  [Status_StatusCode.ERROR]: SpanStatusCode.ERROR,
};

type Instrumentation = ReadableSpan["instrumentationScope"];

/**
 * What is over the limits is left out, and counted where the form has a count for it.
 *
 * @param module "" when the caller is not known.
 * @param takes called for each span, in order, whether it is wanted; the others cost next to
 * nothing.
 * @throws {ConnectError} INVALID_ARGUMENT when one of the spans has no usable id; then `takes` was
 * not asked.
 */
export function moduleSpans(
  sent: readonly ResourceSpans[],
  module: string,
  takes: () => boolean = () => true,
): ReadableSpan[] {
  checkIds(sent);
  return sent.flatMap(({ resource, scopeSpans }) => {
    const of = resourceFromAttributes({
      ...attributesOf(resource?.attributes ?? []),
      ...(module !== "" && { [MODULE_ATTRIBUTE]: module }),
    });
    return scopeSpans.flatMap(({ scope, spans, schemaUrl }: ScopeSpans) => {
      const instrumentation: Instrumentation = {
        name: cut(scope?.name ?? "", LONGEST_NAME),
        ...(scope?.version && { version: cut(scope.version, LONGEST_NAME) }),
        ...(schemaUrl && { schemaUrl: cut(schemaUrl, LONGEST_NAME) }),
      };
      return spans.filter(takes).map((span) => readable(span, of, instrumentation));
    });
  });
}

function checkIds(sent: readonly ResourceSpans[]): void {
  sent.forEach(({ scopeSpans }, at) =>
    scopeSpans.forEach(({ spans }, scopeAt) =>
      spans.forEach((span, spanAt) => {
        const path = () => `resource_spans[${at}].scope_spans[${scopeAt}].spans[${spanAt}]`;
        checkId(span.traceId, TRACE_ID_BYTES, () => `${path()}.trace_id`);
        checkId(span.spanId, SPAN_ID_BYTES, () => `${path()}.span_id`);
        if (span.parentSpanId.length > 0) {
          checkId(span.parentSpanId, SPAN_ID_BYTES, () => `${path()}.parent_span_id`);
        }
        span.links.forEach(({ traceId, spanId }, linkAt) => {
          checkId(traceId, TRACE_ID_BYTES, () => `${path()}.links[${linkAt}].trace_id`);
          checkId(spanId, SPAN_ID_BYTES, () => `${path()}.links[${linkAt}].span_id`);
        });
      })
    )
  );
}

function checkId(bytes: Uint8Array, length: number, path: () => string): void {
  if (bytes.length === length && bytes.some((byte) => byte !== 0)) return;
  const found = bytes.length === length ? "only zeros" : `${bytes.length} bytes`;
  throw new ConnectError(
    `${path()}: found ${found}, allowed: ${length} bytes that are not all zero`,
    Code.InvalidArgument,
  );
}

function readable(
  span: Span,
  resource: Resource,
  instrumentationScope: Instrumentation,
): ReadableSpan {
  const traceId = hex(span.traceId);
  const context: SpanContext = {
    traceId,
    spanId: hex(span.spanId),
    // Only what is sampled is sent.
    traceFlags: span.flags & 0xff | TraceFlags.SAMPLED,
    ...(span.traceState && { traceState: createTraceState(cut(span.traceState, LONGEST_NAME)) }),
  };
  const { startTimeUnixNano: start, endTimeUnixNano: end } = span;
  const events = span.events.slice(0, MOST_EVENTS);
  const links = span.links.slice(0, MOST_LINKS);
  return {
    name: cut(span.name, LONGEST_NAME),
    // The libraries number kinds from 0, and have none that is not known.
    kind: Math.max(0, span.kind - 1),
    spanContext: () => context,
    ...(span.parentSpanId.length > 0 && {
      parentSpanContext: {
        traceId,
        spanId: hex(span.parentSpanId),
        traceFlags: TraceFlags.SAMPLED,
      },
    }),
    startTime: hrTime(start),
    endTime: hrTime(end),
    duration: hrTime(end > start ? end - start : 0n),
    ended: true,
    status: {
      code: STATUS[span.status?.code ?? 0] ?? SpanStatusCode.UNSET,
      ...(span.status?.message && { message: cut(span.status.message, LONGEST_TEXT) }),
    },
    attributes: attributesOf(span.attributes),
    droppedAttributesCount: span.droppedAttributesCount + over(span.attributes, MOST_ATTRIBUTES),
    events: events.map((event) => ({
      name: cut(event.name, LONGEST_NAME),
      time: hrTime(event.timeUnixNano),
      attributes: attributesOf(event.attributes),
      droppedAttributesCount: event.droppedAttributesCount +
        over(event.attributes, MOST_ATTRIBUTES),
    })),
    droppedEventsCount: span.droppedEventsCount + over(span.events, MOST_EVENTS),
    links: links.map((link) => ({
      context: {
        traceId: hex(link.traceId),
        spanId: hex(link.spanId),
        traceFlags: link.flags & 0xff,
      },
      attributes: attributesOf(link.attributes),
      droppedAttributesCount: link.droppedAttributesCount + over(link.attributes, MOST_ATTRIBUTES),
    })),
    droppedLinksCount: span.droppedLinksCount + over(span.links, MOST_LINKS),
    resource,
    instrumentationScope,
  };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function attributesOf(pairs: readonly KeyValue[]): Attributes {
  const attributes: Record<string, unknown> = {};
  for (const { key, value } of pairs.slice(0, MOST_ATTRIBUTES)) {
    if (key !== "") attributes[cut(key, LONGEST_NAME)] = plain(value, 1);
  }
  // The type has flat lists only; what writes attributes out takes nested ones too.
  return attributes as Attributes;
}

function plain(value: AnyValue | undefined, depth: number): unknown {
  const one = value?.value;
  switch (one?.case) {
    case "stringValue":
      return cut(one.value, LONGEST_TEXT);
    case "bytesValue":
      return one.value.subarray(0, LONGEST_TEXT);
    case "intValue":
      return Number(one.value);
    case "boolValue":
    case "doubleValue":
      return one.value;
    case "arrayValue":
      if (depth === DEEPEST_VALUE) return [];
      return one.value.values.slice(0, MOST_ATTRIBUTES).map((item) => plain(item, depth + 1));
    case "kvlistValue":
      if (depth === DEEPEST_VALUE) return {};
      return Object.fromEntries(
        one.value.values.slice(0, MOST_ATTRIBUTES)
          .map(({ key, value: item }) => [cut(key, LONGEST_NAME), plain(item, depth + 1)]),
      );
  }
}

function hrTime(nanoseconds: bigint): HrTime {
  return [Number(nanoseconds / 1_000_000_000n), Number(nanoseconds % 1_000_000_000n)];
}

function over(items: readonly unknown[], most: number): number {
  return Math.max(0, items.length - most);
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
