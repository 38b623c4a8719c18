import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { InputControllerService } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { operationId, Operations } from "./operations.ts";

/** Operations of a service whose calls last until they are aborted or asked to stop. */
function setUp() {
  const operations = new Operations(new FakeClock("2026-01-02T03:04:05Z"));
  const seen: string[] = [];
  const finish: (() => void)[] = [];
  const router = new RpcRouter()
    .service(SensorService, {
      getReadings(_request, call) {
        seen.push(operationId(call));
        return new Promise((resolve, reject) => {
          finish.push(() => resolve({}));
          call.signal.addEventListener("abort", () => reject(call.signal.reason));
        });
      },
    })
    .service(RobotService, {
      async blockForOperation({ id }) {
        seen.push("block");
        await operations.wait(id);
        return {};
      },
      cancelOperation({ id }) {
        operations.cancel(id);
        return {};
      },
    })
    .service(InputControllerService, {
      async *streamEvents(_request, call) {
        seen.push(operationId(call));
        yield {};
        await new Promise((_, reject) =>
          call.signal.addEventListener("abort", () => reject(call.signal.reason))
        );
      },
    });
  const interceptors = [operations.interceptor];
  const transport = createInProcessTransport(router, { interceptors });
  const sensor = createClient(SensorService, transport);
  const robot = createClient(RobotService, transport);
  const started = (count: number) =>
    waitFor(() => seen.length === count, { deadlineMs: 60_000, what: `${count} calls` });
  return { operations, router, interceptors, sensor, robot, seen, finish, started };
}

const canceled = (call: Promise<unknown>) =>
  assert.rejects(call, (error: ConnectError) => error.code === Code.Canceled);

Deno.test("list() tells each running call with id, method, start and session", async () => {
  const { operations, sensor, seen, finish, started } = setUp();
  const first = sensor.getReadings({}, { headers: { opid: "op-1", "viam-sid": "s" } });
  const second = sensor.getReadings({});
  await started(2);
  const method = "/viam.component.sensor.v1.SensorService/GetReadings";
  const [one, two] = operations.list();
  assert.equal(one?.started.toISOString(), "2026-01-02T03:04:05.000Z");
  assert.deepEqual([one?.id, one?.method, one?.sessionId], ["op-1", method, "s"]);
  assert.deepEqual([two?.id, two?.sessionId], [seen[1], ""]);
  assert.match(two?.id ?? "", /^[0-9a-f-]{36}$/);
  for (const end of finish) end();
  await Promise.all([first, second]);
  assert.deepEqual(operations.list(), []);
});

Deno.test("cancel() ends all calls of an operation and no other", async () => {
  const { operations, sensor, finish, started } = setUp();
  const headers = { opid: "op-1" };
  const calls = [sensor.getReadings({}, { headers }), sensor.getReadings({}, { headers })];
  const other = sensor.getReadings({}, { headers: { opid: "op-2" } });
  await started(3);
  operations.cancel("op-1");
  await Promise.all(calls.map(canceled));
  assert.deepEqual(operations.list().map(({ id }) => id), ["op-2"]);
  finish[2]?.();
  await other;
  assert.throws(
    () => operations.cancel("op-1"),
    (error: ConnectError) => error.code === Code.NotFound && /op-1/.test(error.message),
  );
});

Deno.test("wait() resolves when the last call of an operation has ended", async () => {
  const { operations, sensor, finish, started } = setUp();
  const headers = { opid: "op-1" };
  const calls = [sensor.getReadings({}, { headers }), sensor.getReadings({}, { headers })];
  await started(2);
  let isOver = false;
  const waiting = operations.wait("op-1").then(() => isOver = true);
  finish[0]?.();
  await calls[0];
  assert.equal(isOver, false);
  finish[1]?.();
  await Promise.all([calls[1], waiting]);
  await operations.wait("op-1");
});

Deno.test("cancel() and wait() leave calls alone that only ask about their own operation", async () => {
  const { sensor, robot, started } = setUp();
  const options = { headers: { opid: "op-1" } };
  const call = canceled(sensor.getReadings({}, options));
  await started(1);
  const waiting = robot.blockForOperation({ id: "op-1" }, options);
  await started(2);
  await robot.cancelOperation({ id: "op-1" }, options);
  await Promise.all([call, waiting]);
});

Deno.test("cancel() reaches calls and streams that came over HTTP/2", async () => {
  const { operations, router, interceptors, seen, started } = setUp();
  const server = await RpcServer.start({
    ...{ router, interceptors },
    listen: { hostname: "127.0.0.1", port: 0 },
  });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  try {
    const call = canceled(createClient(SensorService, transport).getReadings({}));
    const stream = canceled((async () => {
      const events = createClient(InputControllerService, transport)
        .streamEvents({}, { headers: { opid: "stream" } });
      for await (const _ of events);
    })());
    await started(2);
    assert.deepEqual(operations.list().map(({ id }) => id).sort(), [...seen].sort());
    for (const id of seen) operations.cancel(id);
    await Promise.all([call, stream]);
    await waitFor(() => operations.list().length === 0, { deadlineMs: 60_000 });
  } finally {
    transport.close();
    await server.close({ graceMs: 100 });
  }
});
