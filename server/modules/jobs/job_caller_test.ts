import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { GenericService } from "../../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { createJobCaller, type JobCaller } from "./job_caller.ts";

const SENSOR = "rdk:component:sensor";
const GENERIC = "rdk:component:generic";
const MOTOR = "rdk:component:motor";
const BOARD = "rdk:component:board";
const services: Record<string, DescService> = {
  [SENSOR]: SensorService,
  [GENERIC]: GenericService,
  [MOTOR]: MotorService,
  [BOARD]: BoardService,
};
const resources = [
  { api: SENSOR, name: "s" },
  { api: GENERIC, name: "g" },
  { api: MOTOR, name: "m" },
  { api: BOARD, name: "b" },
  { api: SENSOR, name: "twice" },
  { api: GENERIC, name: "twice" },
];

/** A caller of a router whose methods keep their requests. */
function setUp(): { call: JobCaller; asked: unknown[]; signals: AbortSignal[]; paths: string[] } {
  const asked: unknown[] = [];
  const signals: AbortSignal[] = [];
  const paths: string[] = [];
  const router = new RpcRouter()
    .service(SensorService, {
      getReadings: ({ name, extra }) => {
        asked.push({ name, extra });
        return { readings: { t: { kind: { case: "numberValue", value: 21 } } } };
      },
    })
    .service(GenericService, {
      doCommand: ({ name, command }) => {
        asked.push({ name, command });
        return { result: { heard: command ?? {} } };
      },
      getStatus: (_request, { signal }) => {
        signals.push(signal);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject("gone")));
      },
    })
    .service(BoardService, {
      readAnalogReader: ({ boardName, analogReaderName }) => {
        asked.push({ boardName, analogReaderName });
        return { value: 7 };
      },
    })
    .service(MotorService, {
      goFor: ({ name, rpm, revolutions }) => {
        asked.push({ name, rpm, revolutions });
        throw new ConnectError("the motor is stuck", Code.FailedPrecondition);
      },
    });
  const call = createJobCaller({
    router,
    apisOf: (text) =>
      resources.filter(({ api, name }) => name === text || `${api}/${name}` === text),
    serviceOf: (api) => services[api],
    interceptors: [{ before: ({ path }) => void paths.push(path) }],
  });
  return { call, asked, signals, paths };
}

const signal = new AbortController().signal;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

Deno.test("JobCaller hands DoCommand its command and gives the result back as JSON", async () => {
  const { call, asked, paths } = setUp();
  const command = { say: ["x", { n: 1 }] };
  const result = await call({ resource: "g", method: "DoCommand", command, signal });
  assert.deepEqual(plain(result), { result: { heard: command } });
  assert.deepEqual(asked, [{ name: "g", command }]);
  assert.deepEqual(paths, ["/viam.component.generic.v1.GenericService/DoCommand"]);
});

Deno.test("JobCaller names the resource where the method's request has its name", async () => {
  const { call, asked } = setUp();
  const command = { analog_reader_name: "pot" };
  const result = await call({ resource: "b", method: "ReadAnalogReader", command, signal });
  assert.deepEqual(plain(result), { value: 7 });
  assert.deepEqual(asked, [{ boardName: "b", analogReaderName: "pot" }]);
});

Deno.test("JobCaller finds a resource by its full name and takes the command as fields", async () => {
  const { call, asked } = setUp();
  const full = `${SENSOR}/s`;
  const command = { extra: { k: 1 }, name: "other" };
  const result = await call({ resource: full, method: "GetReadings", command, signal });
  assert.deepEqual(plain(result), { readings: { t: 21 } });
  assert.deepEqual(asked, [{ name: "s", extra: { k: 1 } }]);
});

Deno.test("JobCaller takes the resource that has the method when two share a name", async () => {
  const { call, asked } = setUp();
  await call({ resource: "twice", method: "GetReadings", signal });
  assert.deepEqual(asked, [{ name: "twice", extra: undefined }]);
  await assert.rejects(
    call({ resource: "twice", method: "DoCommand", signal }),
    /twice may be rdk:component:sensor\/twice and rdk:component:generic\/twice; write the full name/,
  );
});

Deno.test("JobCaller fails with the words of the method", async () => {
  const { call, asked } = setUp();
  const run = { resource: "m", method: "GoFor", command: { rpm: 5, revolutions: 2 }, signal };
  await assert.rejects(call(run), /the motor is stuck/);
  assert.deepEqual(asked, [{ name: "m", rpm: 5, revolutions: 2 }]);
});

Deno.test("JobCaller says what does not exist and what there is", async () => {
  const { call } = setUp();
  const table: [Parameters<JobCaller>[0], RegExp][] = [
    [{ resource: "none", method: "DoCommand", signal }, /^there is no resource none$/],
    [
      { resource: "s", method: "Spin", signal },
      /^there is no method Spin .*; rdk:component:sensor\/s has GetReadings, DoCommand, /,
    ],
    [
      { resource: "m", method: "GoFor", command: { speed: 1 }, signal },
      /^the command does not fit GoFor: .*speed/,
    ],
    [
      { resource: "m", method: "GoFor", command: { rpm: "fast" }, signal },
      /^the command does not fit GoFor: .*rpm/,
    ],
  ];
  for (const [run, message] of table) {
    await assert.rejects(call(run), (error) => message.test((error as Error).message));
  }
});

Deno.test("JobCaller ends the call when the signal aborts", async () => {
  const { call, signals } = setUp();
  const controller = new AbortController();
  const running = call({ resource: "g", method: "GetStatus", signal: controller.signal });
  const failed = assert.rejects(running);
  await waitFor(() => signals.length === 1, { deadlineMs: 60_000 });
  controller.abort(new Error("over"));
  await failed;
  assert.equal(signals[0]?.aborted, true);
});
