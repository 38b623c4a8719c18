import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import {
  type ReportStatusRequest,
  ReportStatusResponseSchema,
  ResourceReadingsSchema,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { GetMachineStatusResponseSchema } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { StatusReporter } from "./status_reporter.ts";

function setUp() {
  const clock = new FakeClock();
  const reports: { revision: string; readings: number }[] = [];
  const stop = new AbortController();
  const control = { revision: "r0", fails: undefined as Code | undefined };
  const reporter = new StatusReporter({
    client: {
      reportStatus: (request) => {
        if (control.fails) return Promise.reject(new ConnectError("no", control.fails));
        const { status, readings } = request as ReportStatusRequest;
        const revision = status?.config?.revision ?? "";
        reports.push({ revision, readings: readings.length });
        return Promise.resolve(create(ReportStatusResponseSchema));
      },
    },
    partId: "p1",
    status: () => ({
      status: create(GetMachineStatusResponseSchema, { config: { revision: control.revision } }),
      configError: "",
    }),
    readings: () => Promise.resolve([create(ResourceReadingsSchema, { name: "s" })]),
    clock,
    log: memoryLogger(),
    backoff: new Backoff({ minMs: 500, maxMs: 30_000, random: () => 1 }),
  });
  const running = reporter.run(stop.signal);
  const take = () => reports.splice(0).map(({ revision, readings }) => `${revision}:${readings}`);
  return { clock, reporter, control, stop, running, take };
}

Deno.test("StatusReporter reports at the start and after a change, changes together in one", async () => {
  const { clock, reporter, control, stop, running, take } = setUp();
  await clock.advance(0);
  assert.deepEqual(take(), ["r0:0"]);
  await clock.advance(60_000);
  assert.deepEqual(take(), []);
  control.revision = "r1";
  reporter.changed();
  await clock.advance(0);
  assert.deepEqual(take(), ["r1:0"], "at once");
  control.revision = "r2";
  reporter.changed();
  control.revision = "r3";
  reporter.changed();
  await clock.advance(200);
  assert.deepEqual(take(), ["r3:0"], "together");
  stop.abort();
  await running;
});

Deno.test("StatusReporter reports readings each second as long as somebody looks", async () => {
  const { clock, reporter, stop, running, take } = setUp();
  await clock.advance(1_000);
  take();
  reporter.live(3_000);
  await clock.advance(2_999);
  assert.deepEqual(take(), ["r0:1", "r0:1", "r0:1"]);
  await clock.advance(10_000);
  assert.deepEqual(take(), []);
  stop.abort();
  await running;
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("StatusReporter keeps to a report a second when somebody looks for longer", async () => {
  const { clock, reporter, stop, running, take } = setUp();
  await clock.advance(1_000);
  take();
  reporter.live(10_000);
  await clock.advance(0);
  assert.deepEqual(take(), ["r0:1"]);
  await clock.advance(500);
  reporter.live(10_000);
  await clock.advance(400);
  assert.deepEqual(take(), [], "not early");
  reporter.changed();
  await clock.advance(0);
  assert.deepEqual(take(), ["r0:1"], "a change is reported at once");
  stop.abort();
  await running;
});

Deno.test("StatusReporter sends the newest status when the cloud is back", async () => {
  const { clock, reporter, control, stop, running, take } = setUp();
  await clock.advance(1_000);
  take();
  control.fails = Code.Unavailable;
  reporter.changed();
  await clock.advance(5_000);
  control.revision = "r7";
  control.fails = undefined;
  await clock.advance(30_000);
  assert.deepEqual(take(), ["r7:0"]);
  stop.abort();
  await running;
});

Deno.test("StatusReporter ends when the cloud takes no reports", async () => {
  const { clock, reporter, control, running } = setUp();
  control.fails = Code.Unimplemented;
  reporter.changed();
  await clock.advance(1_000);
  await running;
});
