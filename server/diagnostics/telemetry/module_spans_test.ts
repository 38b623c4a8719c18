import assert from "node:assert/strict";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import {
  type ResourceSpans,
  ResourceSpansSchema,
  type SpanSchema,
} from "../../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { GetReadingsResponseSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { ForwardedCall } from "../../../shared/rpc/client/forward.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { moduleSpans } from "./module_spans.ts";
import { Telemetry } from "./telemetry.ts";
import type { TelemetryOptions } from "./telemetry_options.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const START = 1_700_000_000_000_000_000n;

type SpanInit = Exclude<MessageInitShape<typeof SpanSchema>, { $typeName: string }>;

function sent(...spans: SpanInit[]): ResourceSpans[] {
  const text = (stringValue: string) => ({
    value: { case: "stringValue" as const, value: stringValue },
  });
  return [create(ResourceSpansSchema, {
    resource: { attributes: [{ key: "service.name", value: text("python") }] },
    scopeSpans: [{
      scope: { name: "sdk", version: "1" },
      spans: spans.map((span) => ({
        traceId: Buffer.from(TRACE, "hex"),
        spanId: Buffer.from(SPAN, "hex"),
        name: "/viam.Sensor/GetReadings",
        kind: 2,
        startTimeUnixNano: START,
        endTimeUnixNano: START + 1_500_000n,
        ...span,
      })),
    }],
  })];
}

function rig(options: Partial<TelemetryOptions> = {}) {
  const log = memoryLogger();
  const printed: string[] = [];
  const telemetry = new Telemetry({
    print: false,
    folder: () => "/no/such/folder",
    version: "1.2.3",
    resourceStates: () => ({}),
    clock: systemClock,
    log,
    write: (text) => printed.push(text),
    ...options,
  });
  return { telemetry, log, printed: () => printed.join("") };
}

Deno.test("Telemetry prints spans of modules as its own, with the module's name", async () => {
  const { telemetry, printed } = rig();
  await telemetry.apply({ enabled: true, console: true });
  telemetry.take(
    sent({ name: "one\nspan forged 1 ms OK" }, { status: { code: 2, message: "no\nsensor" } }),
    "py",
  );
  await telemetry.close();
  assert.deepEqual(printed().split("\n"), [
    `span one span forged 1 ms OK 1.5 ms OK trace=${TRACE} span=${SPAN} module=py`,
    `span /viam.Sensor/GetReadings 1.5 ms failed (no sensor) trace=${TRACE} span=${SPAN} module=py`,
    "",
  ]);
});

Deno.test("Telemetry writes spans of modules with all they have", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-traces-" });
  try {
    const { telemetry } = rig({ folder: () => folder });
    await telemetry.apply({ enabled: true, disk: true });
    const parentSpanId = Buffer.from("00f067aa0ba902b7", "hex");
    telemetry.take(
      sent({
        parentSpanId,
        attributes: [
          { key: "n", value: { value: { case: "intValue", value: 7n } } },
          {
            key: "list",
            value: {
              value: {
                case: "arrayValue",
                value: { values: [{ value: { case: "boolValue", value: true } }] },
              },
            },
          },
        ],
        events: [{ name: "fell", timeUnixNano: START }],
        links: [{ traceId: Buffer.from(TRACE, "hex"), spanId: parentSpanId }],
      }),
      "py",
    );
    await telemetry.close();
    const [line = ""] = (await Deno.readTextFile(join(folder, "traces.jsonl"))).split("\n");
    const [{ resource, scopeSpans: [{ scope, spans: [span] }] }] = JSON.parse(line).resourceSpans;
    assert.deepEqual(
      resource.attributes.map(({ key, value }: { key: string; value: unknown }) => [key, value]),
      [["service.name", { stringValue: "python" }], ["machine.module", { stringValue: "py" }]],
    );
    assert.deepEqual(scope, { name: "sdk", version: "1" });
    const { traceId, spanId, parentSpanId: parent, kind, startTimeUnixNano, endTimeUnixNano } =
      span;
    assert.deepEqual([traceId, spanId, parent, kind], [TRACE, SPAN, "00f067aa0ba902b7", 2]);
    assert.deepEqual(
      [startTimeUnixNano, endTimeUnixNano],
      [String(START), String(START + 1_500_000n)],
    );
    assert.deepEqual(span.attributes, [
      { key: "n", value: { intValue: 7 } },
      { key: "list", value: { arrayValue: { values: [{ boolValue: true }] } } },
    ]);
    assert.equal(span.events[0].name, "fell");
    assert.equal(span.links[0].spanId, "00f067aa0ba902b7");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Telemetry takes no span of a message when one of them has no usable id", async () => {
  const { telemetry, printed } = rig();
  await telemetry.apply({ enabled: true, console: true });
  const refused = (bad: SpanInit, text: RegExp) =>
    assert.throws(() => telemetry.take(sent({}, bad), "py"), (error) => {
      assert(error instanceof ConnectError);
      assert.equal(error.code, Code.InvalidArgument);
      assert.match(error.message, text);
      return true;
    });
  const path = String.raw`resource_spans\[0\]\.scope_spans\[0\]\.spans\[1\]`;
  refused(
    { traceId: new Uint8Array(3) },
    new RegExp(`${path}\\.trace_id: found 3 bytes, allowed: 16`),
  );
  refused({ spanId: new Uint8Array(8) }, new RegExp(`${path}\\.span_id: found only zeros`));
  refused({ parentSpanId: new Uint8Array(9) }, new RegExp(`${path}\\.parent_span_id: found 9`));
  await telemetry.close();
  assert.equal(printed(), "");
});

Deno.test("Telemetry drops spans of modules while nobody traces, and does not look at them", async () => {
  const { telemetry, printed } = rig();
  await telemetry.apply(undefined);
  telemetry.take(sent({ traceId: new Uint8Array(3) }), "py");
  await telemetry.close();
  assert.equal(printed(), "");
});

Deno.test("Telemetry leaves out what modules send too fast, and tells how much", async () => {
  const clock = new FakeClock();
  const { telemetry, log, printed } = rig({ clock });
  await telemetry.apply({ enabled: true, console: true });
  telemetry.take(sent(...Array.from({ length: 1_200 }, () => ({}))), "py");
  await clock.advance(1_000);
  telemetry.take(sent({ name: "later" }), "py");
  await telemetry.close();
  assert.equal(printed().split("\n").length - 1, 1_001);
  assert.match(printed(), /^span later/m);
  assert.match(log.text(), /200 spans of modules were left out: more than 500 a second/);
});

Deno.test("moduleSpans() cuts what is too long and counts it", () => {
  const attributes = Array.from({ length: 200 }, (_, at) => ({
    key: `k${at}`,
    value: { value: { case: "stringValue" as const, value: "x".repeat(10_000) } },
  }));
  const [span] = moduleSpans(sent({ attributes, endTimeUnixNano: START - 1n }), "");
  assert.equal(Object.keys(span!.attributes).length, 128);
  assert.equal(span!.droppedAttributesCount, 72);
  assert.equal(String(span!.attributes["k0"]).length, 4097);
  assert.deepEqual(span!.duration, [0, 0]);
  assert.equal(span!.resource.attributes["machine.module"], undefined);
});

Deno.test("Telemetry names its span to the module that a call is passed on to", async () => {
  const { telemetry, printed } = rig();
  await telemetry.apply({ enabled: true, console: true });
  let seen: unknown;
  const forward = {
    unary(call: ForwardedCall) {
      seen = call.forwardedHeaders()["traceparent"];
      return Promise.resolve(
        toBinary(GetReadingsResponseSchema, create(GetReadingsResponseSchema)),
      );
    },
    stream: () => {
      throw new Error("no stream");
    },
  };
  const router = new RpcRouter().service(SensorService, {}, {
    route: () => () => forward,
  });
  const server = await RpcServer.start({
    router,
    listen: { hostname: "127.0.0.1", port: 0 },
    interceptors: [telemetry.interceptor],
  });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  try {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };
    await createClient(SensorService, transport).getReadings({ name: "s" }, { headers });
  } finally {
    transport.close();
    await server.close({ graceMs: 100 });
    await telemetry.close();
  }
  const own = printed().match(/span=([\da-f]{16}) parent=/)?.[1];
  assert.equal(seen, `00-${TRACE}-${own}-01`);
});

Deno.test("Telemetry makes no span of what modules log and send", async () => {
  const { telemetry, printed } = rig();
  await telemetry.apply({ enabled: true, console: true });
  const router = new RpcRouter().service(RobotService, {
    log: () => ({}),
    sendTraces: () => ({}),
    getVersion: () => ({}),
  });
  const transport = createInProcessTransport(router, { interceptors: [telemetry.interceptor] });
  const robot = createClient(RobotService, transport);
  await robot.log({});
  await robot.sendTraces({});
  await robot.getVersion({});
  await telemetry.close();
  assert.match(printed(), /^span viam\.robot\.v1\.RobotService\/GetVersion .*\n$/);
});
