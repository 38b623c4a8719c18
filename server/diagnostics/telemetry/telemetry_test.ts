import assert from "node:assert/strict";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import type { TracingConfig } from "../../../shared/config/operation.ts";
import {
  type ResourceSpans,
  ResourceSpansSchema,
  type Span,
  TracesDataSchema,
} from "../../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { passedOnKey } from "../../../shared/rpc/client/forward.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { parseCollectorAddress } from "./collector.ts";
import { DiskExporter } from "./disk_exporter.ts";
import { Telemetry } from "./telemetry.ts";
import type { TelemetryOptions } from "./telemetry_options.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

/** A sensor service behind telemetry, what it printed, and what its handler saw. */
function rig(options: Partial<TelemetryOptions> = {}) {
  const log = memoryLogger();
  const printed: string[] = [];
  const telemetry = new Telemetry({
    ...{
      print: false,
      folder: () => "/no/such/folder",
      version: "1.2.3",
      metricsIntervalMs: 50,
      clock: systemClock,
      log,
    },
    resourceStates: () => ({ ready: 2, unhealthy: 1 }),
    write: (text) => printed.push(text),
    ...options,
  });
  const seen: (string | undefined)[] = [];
  const router = new RpcRouter().service(SensorService, {
    getReadings(request, context) {
      seen.push(context.values.get(passedOnKey)?.["traceparent"]);
      if (request.name === "bad") throw new Error("no such sensor");
      return {};
    },
  });
  const transport = createInProcessTransport(router, { interceptors: [telemetry.interceptor] });
  const client = createClient(SensorService, transport);
  const call = async (name = "s", headers: Record<string, string> = {}) => {
    await client.getReadings({ name }, { headers }).catch(() => undefined);
  };
  return { telemetry, log, seen, call, printed: () => printed.join("") };
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-traces-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("Telemetry does nothing while nobody asks for it", async () => {
  const { telemetry, seen, call, printed } = rig();
  await telemetry.apply(undefined);
  await telemetry.apply({ enabled: false, disk: true, console: true, otlpendpoint: "x" });
  await call();
  await telemetry.close();
  assert.deepEqual(seen, [undefined]);
  assert.equal(printed(), "");
});

Deno.test("Telemetry prints spans and metrics with -output-telemetry", async () => {
  const { telemetry, call, printed } = rig({ print: true });
  await telemetry.apply(undefined);
  await call();
  await call("bad");
  await waitFor(() => /metric rpc\.server\.calls/.test(printed()), {
    deadlineMs: 60_000,
    what: "metrics in the interval",
  });
  await telemetry.close();
  const text = printed();
  const name = "viam\\.component\\.sensor\\.v1\\.SensorService/GetReadings";
  assert.match(
    text,
    new RegExp(`^span ${name} [\\d.]+ ms OK trace=[\\da-f]{32} span=[\\da-f]{16}$`, "m"),
  );
  assert.match(text, new RegExp(`^span ${name} [\\d.]+ ms failed \\(.+\\) trace=`, "m"));
  assert.match(
    text,
    /^metric rpc\.server\.calls\{rpc\.system=grpc,[^}]*rpc\.response\.status=OK\} 1$/m,
  );
  assert.match(text, /^metric rpc\.server\.call\.duration\{[^}]*\} count=1 min=[\d.]+ .* ms$/m);
  assert.match(text, /^metric machine\.resources\{state=ready\} 2$/m);
  assert.match(text, /^metric process\.memory\{kind=resident\} \d+ By$/m);
});

Deno.test("Telemetry goes on with the trace that a caller names, and refuses nonsense", async () => {
  const { telemetry, seen, call, printed } = rig({ print: true });
  await telemetry.apply(undefined);
  await call("s", { traceparent: `00-${TRACE}-${PARENT}-01` });
  await call("s", { traceparent: "00-nonsense" });
  await telemetry.close();
  assert.match(seen[0] ?? "", new RegExp(`^00-${TRACE}-(?!${PARENT})[\\da-f]{16}-01$`));
  assert.match(seen[1] ?? "", /^00-(?!nonsense)[\da-f]{32}-[\da-f]{16}-01$/);
  assert.match(printed(), new RegExp(`trace=${TRACE} span=[\\da-f]{16} parent=${PARENT}\n`));
});

Deno.test("Telemetry records nothing of a trace that its caller does not sample", async () => {
  const { telemetry, seen, call, printed } = rig();
  await telemetry.apply({ enabled: true, console: true });
  await call("s", { traceparent: `00-${TRACE}-${PARENT}-00` });
  await telemetry.close();
  assert.match(seen[0] ?? "", /-00$/);
  assert.equal(printed(), "");
});

Deno.test("Telemetry follows the configuration while calls go on", async () => {
  const { telemetry, seen, call } = rig();
  await telemetry.apply({ enabled: true, console: true });
  await call();
  await telemetry.apply({ enabled: false, console: true });
  await call();
  assert.notEqual(seen[0], undefined);
  assert.equal(seen[1], undefined);
  await telemetry.close();
});

Deno.test("Telemetry writes spans into files of one OTLP message a line", async () => {
  await withFolder(async (folder) => {
    const place = join(folder, "traces");
    const { telemetry, call } = rig({ folder: () => place });
    await telemetry.apply({ enabled: true, disk: true });
    await call("s", { traceparent: `00-${TRACE}-${PARENT}-01` });
    await telemetry.close();
    const [line = "", rest] = (await Deno.readTextFile(join(place, "traces.jsonl"))).split("\n");
    assert.equal(rest, "");
    const [{ resource, scopeSpans }] = JSON.parse(line).resourceSpans;
    assert.equal(scopeSpans[0].spans[0].traceId, TRACE);
    assert.equal(scopeSpans[0].spans[0].parentSpanId, PARENT);
    assert.ok(JSON.stringify(resource).includes("machine-server"));
    // As command lines of the public API read them: a length in four bytes, then the message.
    const bytes = await Deno.readFile(join(place, "traces"));
    const view = new DataView(bytes.buffer);
    let found: ResourceSpans[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 4 + view.getUint32(at, true);
      found = [...found, fromBinary(ResourceSpansSchema, bytes.subarray(at + 4, end))];
      at = end;
    }
    assert.equal(Buffer.from(found[0]!.scopeSpans[0]!.spans[0]!.traceId).toString("hex"), TRACE);
    assert.match(JSON.stringify(found[0]!.resource?.attributes.map(({ key }) => key)), /service/);
  });
});

/** A collector on loopback, by OTLP over HTTP; `break()` makes it refuse. */
function httpCollector() {
  const spans: Span[] = [];
  const paths: string[] = [];
  let status = 200;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    async (request) => {
      const bytes = new Uint8Array(await request.arrayBuffer());
      paths.push(new URL(request.url).pathname);
      if (status === 200) spans.push(...spansOf(bytes));
      return new Response(new Uint8Array(), { status });
    },
  );
  return {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`,
    spans,
    paths,
    answer: (code: number) => status = code,
    close: () => server.shutdown(),
  };
}

function spansOf(bytes: Uint8Array): Span[] {
  const { resourceSpans } = fromBinary(TracesDataSchema, bytes);
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

Deno.test("Telemetry sends spans to a collector by OTLP over HTTP", async () => {
  const collector = httpCollector();
  const { telemetry, call } = rig();
  await telemetry.apply({ enabled: true, otlpendpoint: collector.url });
  await call("s", { traceparent: `00-${TRACE}-${PARENT}-01` });
  await call("bad");
  await telemetry.close();
  await collector.close();
  assert.deepEqual(new Set(collector.paths), new Set(["/v1/traces"]));
  const [span, failed] = collector.spans;
  assert.equal(Buffer.from(span!.traceId).toString("hex"), TRACE);
  assert.equal(span!.name, "viam.component.sensor.v1.SensorService/GetReadings");
  assert.ok(span!.endTimeUnixNano > span!.startTimeUnixNano);
  assert.equal(failed?.status?.code, 2);
});

Deno.test("Telemetry says once when the collector refuses, and when it takes spans again", async () => {
  const collector = httpCollector();
  const { telemetry, log, call } = rig();
  const tracing: TracingConfig = { enabled: true, otlpendpoint: collector.url };
  await telemetry.apply(tracing);
  collector.answer(400);
  for (let round = 0; round < 2; round++) {
    const before = collector.paths.length;
    await call();
    await waitFor(() => collector.paths.length > before, { deadlineMs: 60_000 });
  }
  await waitFor(() => log.messages("warn").length > 0, { deadlineMs: 60_000 });
  collector.answer(200);
  await call();
  await waitFor(() => log.messages("info").length > 0, { deadlineMs: 60_000 });
  await telemetry.close();
  await collector.close();
  assert.equal(log.messages("warn").length, 1);
  assert.match(log.text(), /spans are lost: the collector http.* does not take them/);
  assert.match(log.text(), /takes spans again/);
});

Deno.test("Telemetry sends spans to a collector by OTLP over gRPC", async () => {
  const spans: Span[] = [];
  const server = new Server();
  server.addService({
    export: {
      path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      requestStream: false,
      responseStream: false,
      requestDeserialize: (bytes: Buffer) => bytes,
      requestSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
    },
  }, {
    export: (
      call: { request: Uint8Array },
      done: (error: null, answer: Buffer) => void,
    ) => {
      spans.push(...spansOf(new Uint8Array(call.request)));
      done(null, Buffer.alloc(0));
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(
      "127.0.0.1:0",
      ServerCredentials.createInsecure(),
      (error, bound) => error ? reject(error) : resolve(bound),
    )
  );
  const { telemetry, call, log } = rig();
  await telemetry.apply({ enabled: true, otlpendpoint: `127.0.0.1:${port}` });
  await call();
  await waitFor(() => spans.length === 1, { deadlineMs: 60_000, what: `a span; ${log.text()}` });
  await telemetry.close();
  await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  assert.equal(spans[0]!.name, "viam.component.sensor.v1.SensorService/GetReadings");
});

Deno.test("Telemetry says what is wrong with an address and leaves calls alone", async () => {
  const { telemetry, log, call, seen } = rig();
  await telemetry.apply({ enabled: true, otlpendpoint: "ftp://x" });
  await call();
  assert.equal(seen.length, 1);
  assert.match(
    log.text(),
    /calls are not traced: tracing\.otlpendpoint: found "ftp:\/\/x", allowed/,
  );
  await telemetry.close();
});

Deno.test("parseCollectorAddress() knows every form", () => {
  const forms: Record<string, string> = {
    "http://c:4318": "http http://c:4318/v1/traces",
    "https://c/otlp": "http https://c/otlp",
    "c:4317": "grpc http://c:4317",
    "grpc://[::1]:4317": "grpc http://[::1]:4317",
    "grpcs://c:4317": "grpc https://c:4317",
  };
  for (const [text, wanted] of Object.entries(forms)) {
    const { protocol, url } = parseCollectorAddress(text);
    assert.equal(`${protocol} ${url}`, wanted, text);
  }
  for (const text of ["", "http://", "unix:///x", "a b"]) {
    assert.throws(() => parseCollectorAddress(text), /allowed/, text);
  }
});

Deno.test("DiskExporter keeps five older files beside the one it writes", async () => {
  await withFolder(async (folder) => {
    const exporter = await DiskExporter.open(folder, 1);
    const tracers = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    for (let i = 0; i < 8; i++) tracers.getTracer("t").startSpan(`span ${i}`).end();
    await tracers.shutdown();
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
    const older = [1, 2, 3, 4, 5].flatMap((n) => [`traces.${n}`, `traces.${n}.jsonl`]);
    assert.deepEqual(names, ["traces", ...older, "traces.jsonl"]);
    assert.match(await Deno.readTextFile(join(folder, "traces.jsonl")), /"span 7"/);
    assert.match(await Deno.readTextFile(join(folder, "traces.5.jsonl")), /"span 2"/);
  });
});
