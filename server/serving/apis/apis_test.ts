import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { Geometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { GenericService as GenericComponent } from "../../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import { BoardService, PowerMode } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  GetMachineStatusResponse_State,
  ResourceStatus_State,
  RobotService,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { GenericService as GenericServiceService } from "../../../shared/gen/viam/service/generic/v1/generic_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FrameSystem } from "../../resources/frames/frame_system.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { Operations } from "../operations/operations.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import { Sessions } from "../sessions/sessions.ts";
import { MachineState } from "../../config/status/machine_state.ts";
import { machineStatus } from "../../config/status/machine_status.ts";
import { Tunnels } from "../tunnels/tunnels.ts";
import { servedApis } from "./all.ts";
import { createRobotService } from "./robot.ts";

const SENSOR = "rdk:component:sensor";

function spec(name: string, api: string, model: string, attributes = {}): ResourceSpec {
  return { name, api, model, attributes, dependsOn: [] };
}

/** A served machine without sockets, and a scripted sensor model `t:test:s`. */
async function setUp(specs: ResourceSpec[], scripted: Partial<Sensor> = {}) {
  const clock = new FakeClock();
  const registry = builtinModels(testEnvironment({ clock })).register({
    api: SENSOR,
    model: "t:test:s",
    attributes: anyAttributes,
    construct: () => scripted,
  });
  const resources = new ResourceManager({ registry, clock, log: memoryLogger() });
  const state = new MachineState(clock);
  const operations = new Operations(clock);
  const sessions = new Sessions(clock);
  const written: (string | undefined)[][] = [];
  let shutdowns = 0;
  const router = new RpcRouter().service(
    RobotService,
    createRobotService({
      ...{ resources, state, operations, sessions },
      tunnels: new Tunnels({ clock }),
      frames: new FrameSystem({ resources: resources.index, clock, log: memoryLogger() }),
      apis: () => servedApis,
      modules: () => undefined,
      writeLog: (entries, header) => written.push(...entries.map((one) => [one.message, header])),
      status: () => machineStatus(state, { resources: resources.snapshot() }),
      machines: () => "this",
      version: "1.2.3-4-gabcdef",
      takeSpans: () => {},
      uploadFromPath: (path, { tags }) => Promise.resolve({ ids: [path, ...tags] }),
      shutdown: () => shutdowns++,
    }),
  );
  for (const api of servedApis) api.mount(router, resources.index);
  const transport = createInProcessTransport(router, { interceptors: [operations.interceptor] });
  await resources.apply(specs, "r1");
  return {
    clock,
    resources,
    state,
    transport,
    robot: createClient(RobotService, transport),
    sensor: createClient(SensorService, transport),
    generic: createClient(GenericComponent, transport),
    genericService: createClient(GenericServiceService, transport),
    shutdowns: () => shutdowns,
    written,
  };
}

async function failure(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof ConnectError, String(error));
    return `${Code[error.code]}: ${error.rawMessage}`;
  }
  return "no failure";
}

Deno.test("GetMachineStatus shows a built resource with a problem as unhealthy while it has one", async () => {
  let problem: (() => string | undefined) | undefined;
  const scripted = { problem: () => problem?.(), getReadings: () => ({ a: 1 }) };
  const { robot, sensor, resources, clock } = await setUp(
    [spec("s", SENSOR, "t:test:s"), spec("f", SENSOR, "rdk:builtin:fake")],
    scripted,
  );
  const shown = async () =>
    (await robot.getMachineStatus({})).resources.map(({ name, state, error, lastUpdated }) =>
      `${name!.name} ${ResourceStatus_State[state]} ${error} ${lastUpdated!.seconds % 60n}`
    );
  assert.deepEqual(await shown(), ["s READY  5", "f READY  5"]);

  await clock.advance(2_000);
  problem = () => "it is unplugged; plug it in";
  assert.deepEqual(await shown(), ["s UNHEALTHY it is unplugged; plug it in 7", "f READY  5"]);
  assert.ok((await sensor.getReadings({ name: "s" })).readings["a"], "it can be called");
  await clock.advance(60_000);
  assert.deepEqual(await shown(), ["s UNHEALTHY it is unplugged; plug it in 7", "f READY  5"]);

  problem = () => {
    throw new Error("no driver");
  };
  assert.match((await shown())[0]!, /^s UNHEALTHY its state cannot be had: no driver/);
  problem = undefined;
  await clock.advance(2_000);
  assert.deepEqual(await shown(), ["s READY  9", "f READY  5"]);
  await resources.close();
});

Deno.test("GetReadings answers what the fake sensor is told to read", async () => {
  const { sensor } = await setUp([
    spec("f", SENSOR, "rdk:builtin:fake"),
    spec("g", SENSOR, "rdk:builtin:fake", { readings: { n: 7, t: "x" } }),
  ]);
  const plain = async (name: string) =>
    Object.fromEntries(
      Object.entries((await sensor.getReadings({ name })).readings).map((
        [key, value],
      ) => [key, value.kind.value]),
    );
  assert.deepEqual(await plain("f"), { a: 1, b: 2, c: 3 });
  assert.deepEqual(await plain("g"), { n: 7, t: "x" });
});

Deno.test("Log keeps the lines of a client on a machine without modules", async () => {
  const { robot, written } = await setUp([]);
  await robot.log({ logs: [{ message: "hello", level: "info" }] });
  await robot.log({ logs: [{ message: "from a module" }] }, { headers: { modname: "m" } });
  assert.deepEqual(written, [["hello", undefined], ["from a module", "m"]]);
});

Deno.test("RestartModule names the module that is not there", async () => {
  const { robot } = await setUp([]);
  const restart = (which: "moduleId" | "moduleName", value: string) =>
    failure(() => robot.restartModule({ idOrName: { case: which, value } }));
  assert.match(await restart("moduleName", "ghost"), /^NotFound: .*none of name ghost;/);
  assert.match(await restart("moduleId", "acme:ghost"), /^NotFound: .*none of id acme:ghost;/);
  assert.match(await restart("moduleName", ""), /^InvalidArgument: .*module_name/);
  assert.match(await failure(() => robot.restartModule({})), /^InvalidArgument: .*module_id/);
});

Deno.test("fakes say what they cannot do", async () => {
  const { transport } = await setUp([spec("b", "rdk:component:board", "rdk:builtin:fake")]);
  const board = createClient(BoardService, transport);
  assert.match(
    await failure(() => board.setPowerMode({ name: "b", powerMode: PowerMode.OFFLINE_DEEP })),
    /^Unimplemented: /,
  );
});

Deno.test("GetGeometries answers the shape of the configuration when the driver has none", async () => {
  const own: Geometry[] = [];
  const geometry = { type: "box", x: 1, y: 2, z: 3, translation: { z: 4 } };
  const { generic, sensor } = await setUp([
    { ...spec("arm", "rdk:component:generic", "rdk:builtin:fake"), extra: { frame: { geometry } } },
    { ...spec("own", SENSOR, "t:test:s"), extra: { frame: { geometry } } },
    spec("none", SENSOR, "rdk:builtin:fake"),
  ], { getGeometries: () => own });
  const { geometries: [shape, ...others] } = await generic.getGeometries({ name: "arm" });
  assert.deepEqual(others, []);
  assert.equal(shape?.label, "arm");
  assert.equal(shape.center?.z, 4);
  const { case: kind, value } = shape.geometryType;
  assert(kind === "box");
  assert.deepEqual([value.dimsMm?.x, value.dimsMm?.y, value.dimsMm?.z], [1, 2, 3]);
  assert.deepEqual((await sensor.getGeometries({ name: "own" })).geometries, []);
  assert.deepEqual((await sensor.getGeometries({ name: "none" })).geometries, []);
});

Deno.test("GetReadings hands extra to the driver and its errors to the caller", async () => {
  const { sensor } = await setUp([spec("s", SENSOR, "t:test:s")], {
    getReadings: (extra) => {
      if (extra?.["fail"]) throw new Error("bus is busy");
      return { extra: extra ?? null };
    },
  });
  const { readings } = await sensor.getReadings({ name: "s", extra: { k: 1 } });
  assert.equal(readings["extra"]?.kind.case, "structValue");
  assert.equal(
    await failure(() => sensor.getReadings({ name: "s", extra: { fail: true } })),
    "Unknown: bus is busy",
  );
  assert.equal(
    await failure(() => sensor.getReadings({ name: "none" })),
    `NotFound: no node found with api ${SENSOR} and name none`,
  );
});

Deno.test("resources answer UNIMPLEMENTED when the driver cannot do what is asked", async () => {
  const { sensor } = await setUp([spec("s", SENSOR, "t:test:s")]);
  assert.equal(
    await failure(() => sensor.getReadings({ name: "s" })),
    `Unimplemented: ${SENSOR}/s does not support GetReadings`,
  );
  assert.equal(
    await failure(() => sensor.doCommand({ name: "s" })),
    `Unimplemented: ${SENSOR}/s does not support DoCommand`,
  );
  assert.deepEqual((await sensor.getStatus({ name: "s" })).result, {});
  assert.deepEqual((await sensor.getGeometries({ name: "s" })).geometries, []);
});

Deno.test("GetReadings refuses the 101st call at the same time, and takes one again after", async () => {
  const gate = Promise.withResolvers<void>();
  const { sensor } = await setUp([spec("s", SENSOR, "t:test:s")], {
    getReadings: async () => {
      await gate.promise;
      return {};
    },
  });
  const running = Array.from({ length: 100 }, () => sensor.getReadings({ name: "s" }));
  assert.match(
    await failure(() => sensor.getReadings({ name: "s" })),
    /^ResourceExhausted: resource rdk:component:sensor\/s exceeded .* limit of 100/,
  );
  gate.resolve();
  await Promise.all(running);
  await sensor.getReadings({ name: "s" });
});

Deno.test("DoCommand of the generic fakes echoes", async () => {
  const { generic, genericService } = await setUp([
    spec("g", "rdk:component:generic", "rdk:builtin:fake"),
    spec("g", "rdk:service:generic", "rdk:builtin:fake"),
  ]);
  const command = { say: ["hello", { n: 1 }] };
  assert.deepEqual((await generic.doCommand({ name: "g", command })).result, command);
  for (let call = 0; call < 101; call++) {
    const { result } = await genericService.doCommand({ name: "g", command });
    assert.deepEqual(result, command);
  }
});

Deno.test("GetMachineStatus tells state, configuration and every resource", async () => {
  const { robot, state, clock } = await setUp([
    spec("f", SENSOR, "rdk:builtin:fake"),
    spec("bad", SENSOR, "rdk:builtin:none"),
  ]);
  assert.equal(
    (await robot.getMachineStatus({})).state,
    GetMachineStatusResponse_State.INITIALIZING,
  );
  state.applied("r1");
  state.setCloud({ primaryOrgId: "o", locationId: "l", machineId: "m", machinePartId: "p" });
  const status = await robot.getMachineStatus({});
  assert.equal(status.state, GetMachineStatusResponse_State.RUNNING);
  assert.equal(status.config?.revision, "r1");
  assert.equal(Number(status.config?.lastUpdated?.seconds), clock.now().getTime() / 1000);
  const [good, bad] = status.resources;
  assert.equal(good?.state, ResourceStatus_State.READY);
  assert.equal(good?.revision, "r1");
  assert.equal(good?.name?.subtype, "sensor");
  assert.equal(good?.cloudMetadata?.machinePartId, "p");
  assert.equal(bad?.state, ResourceStatus_State.UNHEALTHY);
  assert.match(bad?.error ?? "", /not registered/);
  assert.equal((await robot.getCloudMetadata({})).locationId, "l");
});

Deno.test("RobotService describes the machine", async () => {
  const { robot, shutdowns } = await setUp([
    spec("f", SENSOR, "rdk:builtin:fake"),
    spec("bad", SENSOR, "rdk:builtin:none"),
  ]);
  const { resources } = await robot.resourceNames({});
  assert.deepEqual(resources.map(({ name }) => name), ["f"], "only what can be called");
  const { resourceRpcSubtypes } = await robot.resourceRPCSubtypes({});
  assert.ok(
    resourceRpcSubtypes.some(({ subtype, protoService }) =>
      subtype?.subtype === "sensor" && protoService === SensorService.typeName
    ),
  );
  const version = await robot.getVersion({});
  assert.deepEqual([version.platform, version.version], ["rdk", "v1.2.3"]);
  assert.match(version.apiVersion, /^v\d+\.\d+\.\d+$/);
  assert.match(await failure(() => robot.getCloudMetadata({})), /^FailedPrecondition/);
  await robot.shutdown({});
  assert.equal(shutdowns(), 1);
});

Deno.test("operations are listed, waited for and cancelled by the caller's id", async () => {
  const { robot, sensor } = await setUp([spec("s", SENSOR, "t:test:s")], {
    getReadings: (_extra, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const call = failure(() => sensor.getReadings({ name: "s" }, { headers: { opid: "op-1" } }));
  const { operations } = await robot.getOperations({});
  assert.deepEqual(operations.map(({ id, method }) => [id, method]), [
    ["op-1", "/viam.component.sensor.v1.SensorService/GetReadings"],
  ]);
  const waiting = robot.blockForOperation({ id: "op-1" });
  await robot.cancelOperation({ id: "op-1" });
  await waiting;
  assert.match(await call, /^Canceled: the operation was cancelled/);
  assert.match(await failure(() => robot.cancelOperation({ id: "op-1" })), /^NotFound: .*op-1/);
  assert.deepEqual((await robot.getOperations({})).operations, []);
});

Deno.test("StopAll stops every resource and tells which could not be", async () => {
  let stops = 0;
  const { robot } = await setUp([spec("s", SENSOR, "t:test:s")], {
    stop: () => {
      if (++stops === 2) throw new Error("stuck");
    },
  });
  await robot.stopAll({});
  assert.equal(
    await failure(() => robot.stopAll({})),
    `Unknown: could not stop ${SENSOR}/s: stuck`,
  );
});

Deno.test("sessions live as long as their heartbeats come", async () => {
  const { robot, clock } = await setUp([]);
  const { id, heartbeatWindow } = await robot.startSession({});
  assert.equal(Number(heartbeatWindow?.seconds), 2);
  await clock.advance(1_900);
  await robot.sendSessionHeartbeat({ id });
  await clock.advance(1_900);
  assert.equal((await robot.startSession({ resume: id })).id, id);
  assert.deepEqual((await robot.getSessions({})).sessions.map((session) => session.id), [id]);
  await clock.advance(2_100);
  assert.equal(
    await failure(() => robot.sendSessionHeartbeat({ id })),
    "InvalidArgument: SESSION_EXPIRED",
  );
  assert.notEqual((await robot.startSession({ resume: id })).id, id);
});

Deno.test("Sessions keeps a session to its owner", () => {
  const sessions = new Sessions(new FakeClock());
  const id = sessions.start("alice", "");
  assert.throws(() => sessions.heartbeat("bob", id), /SESSION_EXPIRED/);
  assert.notEqual(sessions.start("bob", id), id);
  sessions.heartbeat("alice", id);
});

Deno.test("StartSession refuses more than 1024 sessions at a time", async () => {
  const { robot } = await setUp([]);
  for (let n = 0; n < 1024; n++) await robot.startSession({});
  assert.match(
    await failure(() => robot.startSession({})),
    /^ResourceExhausted: too many concurrent sessions/,
  );
});
