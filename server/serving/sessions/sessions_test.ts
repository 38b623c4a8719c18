import { createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { type Identity, identityKey } from "../../../shared/cloud/auth/identity.ts";
import { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { isMonitored } from "./monitored.ts";
import { Sessions, type SessionsOptions } from "./sessions.ts";

const motor = (name: string) => `rdk:component:motor/${name}`;

/** Sessions and a motor service that they watch; `who` is who calls. */
function setUp(stop: SessionsOptions["stop"] = () => {}) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const stopped: string[] = [];
  const sessions = new Sessions(clock, {
    log,
    stop: (resource, signal) => {
      stopped.push(resource);
      return stop(resource, signal);
    },
  });
  const gate = Promise.withResolvers<void>();
  const caller = { entity: "" };
  const identify = {
    before: ({ values }: { values: { set(key: typeof identityKey, to: Identity): unknown } }) => {
      if (caller.entity === "") return;
      const { entity } = caller;
      values.set(identityKey, { entity, credentialType: "api-key", claims: {} });
    },
  };
  const interceptors = [identify, sessions.interceptor];
  const router = new RpcRouter().service(MotorService, {
    setPower({ name, powerPct }, call) {
      sessions.used(call, motor(name));
      if (powerPct > 1) throw new ConnectError("too much", Code.InvalidArgument);
      return {};
    },
    isMoving({ name }, call) {
      sessions.used(call, motor(name));
      return { isMoving: true };
    },
    async goFor({ name }, call) {
      const isLate = name === "late";
      if (!isLate) sessions.used(call, motor(name));
      await gate.promise;
      if (isLate) sessions.used(call, motor(name));
      return {};
    },
  }).service(RobotService, { startSession: () => ({ id: "new" }), getVersion: () => ({}) });
  const transport = createInProcessTransport(router, { interceptors });
  const client = createClient(MotorService, transport);
  const robot = createClient(RobotService, transport);
  const within = (id: string) => ({ headers: { "viam-sid": id } });
  return {
    clock,
    log,
    stopped,
    sessions,
    caller,
    router,
    interceptors,
    client,
    robot,
    gate,
    within,
  };
}

Deno.test("Sessions stops what a session moved when its heartbeats end", async () => {
  const { clock, stopped, sessions, client, within, log } = setUp();
  const id = sessions.start("", "");
  await client.setPower({ name: "a" }, within(id));
  await client.setPower({ name: "b" }, within(id));
  await client.isMoving({ name: "watched" }, within(id));
  for (let beat = 0; beat < 5; beat++) {
    await clock.advance(1_900);
    sessions.heartbeat("", id);
  }
  await clock.advance(1_999);
  assert.deepEqual(stopped, []);
  await clock.advance(1);
  assert.deepEqual(stopped, [motor("a"), motor("b")]);
  assert.match(log.messages("warn")[0] ?? "", /without a heartbeat/);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("Sessions takes every call of a session for a heartbeat", async () => {
  const { clock, stopped, sessions, client, within } = setUp();
  const id = sessions.start("", "");
  await client.setPower({ name: "a" }, within(id));
  for (let call = 0; call < 5; call++) {
    await clock.advance(1_500);
    await client.isMoving({ name: "a" }, within(id));
  }
  assert.deepEqual(stopped, []);
  await clock.advance(2_000);
  assert.deepEqual(stopped, [motor("a")]);
});

Deno.test("Sessions leaves a resource alone that another session moved since", async () => {
  const { clock, stopped, sessions, client, within } = setUp();
  const [first, second] = [sessions.start("", ""), sessions.start("", "")];
  await client.setPower({ name: "a" }, within(first));
  await clock.advance(1_000);
  await client.setPower({ name: "a" }, within(second));
  await clock.advance(1_500);
  assert.deepEqual(sessions.list(), [second]);
  assert.deepEqual(stopped, []);
  await clock.advance(1_000);
  assert.deepEqual(stopped, [motor("a")]);
});

Deno.test("Sessions lets go of a resource that a call without session has moved", async () => {
  const { clock, stopped, sessions, client, within } = setUp();
  const id = sessions.start("", "");
  for (const name of ["a", "b", "c"]) await client.setPower({ name }, within(id));
  await client.setPower({ name: "a" });
  await client.isMoving({ name: "b" });
  await assert.rejects(client.setPower({ name: "c", powerPct: 2 }));
  await clock.advance(2_000);
  assert.deepEqual(stopped, [motor("b"), motor("c")]);
});

Deno.test("Sessions keeps a resource that a session moved while the other call was running", async () => {
  const { clock, stopped, sessions, client, within, gate } = setUp();
  const [first, second] = [sessions.start("", ""), sessions.start("", "")];
  await client.setPower({ name: "a" }, within(first));
  const without = client.goFor({ name: "a" });
  await client.setPower({ name: "a" }, within(second));
  gate.resolve();
  await without;
  await clock.advance(2_000);
  assert.deepEqual(stopped, [motor("a")]);
});

Deno.test("Sessions lets a call move nothing whose session ends before it gets there", async () => {
  const { clock, stopped, sessions, client, within, gate } = setUp();
  const call = client.goFor({ name: "late" }, within(sessions.start("", "")));
  const refused = assert.rejects(call, /SESSION_EXPIRED/);
  await clock.advance(2_000);
  gate.resolve();
  await refused;
  assert.deepEqual(stopped, []);
});

Deno.test("Sessions ends each session in time when others go on", async () => {
  const { clock, stopped, sessions, client, within } = setUp();
  const [first, second] = [sessions.start("", ""), sessions.start("", "")];
  await clock.advance(1_500);
  await client.setPower({ name: "a" }, within(first));
  await clock.advance(400);
  sessions.heartbeat("", second);
  await clock.advance(1_599);
  assert.deepEqual(stopped, []);
  await clock.advance(1);
  assert.deepEqual(stopped, [motor("a")]);
  assert.deepEqual(sessions.list(), [second]);
});

Deno.test("Sessions lets a client come to a new session with the old one's id", async () => {
  const { robot, within } = setUp();
  assert.equal((await robot.startSession({}, within("gone"))).id, "new");
  await assert.rejects(robot.getVersion({}, within("gone")), /SESSION_EXPIRED/);
});

Deno.test("Sessions refuses calls of a session that has ended or belongs to another", async () => {
  const { clock, sessions, client, within, caller } = setUp();
  const refused = (call: Promise<unknown>) =>
    assert.rejects(call, (error: ConnectError) => {
      assert.equal(error.code, Code.InvalidArgument);
      assert.equal(error.rawMessage, "SESSION_EXPIRED");
      return true;
    });
  caller.entity = "alice";
  const id = sessions.start("alice", "");
  await client.setPower({ name: "a" }, within(id));
  caller.entity = "bob";
  await refused(client.isMoving({ name: "a" }, within(id)));
  caller.entity = "alice";
  await refused(client.isMoving({ name: "a" }, within("none")));
  await clock.advance(2_000);
  await refused(client.isMoving({ name: "a" }, within(id)));
});

Deno.test("Sessions names the watched resource in the response, over HTTP/2 as well", async () => {
  const { sessions, router, interceptors, client, within } = setUp();
  const id = sessions.start("", "");
  const server = await RpcServer.start({
    ...{ router, interceptors },
    listen: { hostname: "127.0.0.1", port: 0 },
  });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  try {
    for (const by of [client, createClient(MotorService, transport)]) {
      const header = (headers?: Headers) => headers?.get("viam-smrn") ?? null;
      const ask = async (options: Parameters<typeof by.setPower>[1]) => {
        let seen: Headers | undefined;
        await by.setPower({ name: "a" }, { ...options, onHeader: (headers) => seen = headers });
        return header(seen);
      };
      assert.equal(await ask(within(id)), motor("a"));
      assert.equal(await ask({}), null);
    }
  } finally {
    transport.close();
    await server.close({ graceMs: 100 });
    sessions.close();
  }
});

Deno.test("Sessions goes by a new heartbeat window at once", async () => {
  const { clock, stopped, sessions, client, within } = setUp();
  sessions.heartbeatWindowMs = 60_000;
  const id = sessions.start("", "");
  await client.setPower({ name: "a" }, within(id));
  await clock.advance(10_000);
  assert.deepEqual(sessions.list(), [id]);
  sessions.heartbeatWindowMs = 30;
  await clock.advance(1);
  assert.deepEqual(stopped, [motor("a")]);
});

Deno.test("Sessions tells which resource could not be stopped, also one that hangs", async () => {
  const { clock, stopped, sessions, client, within, log } = setUp((resource, signal) => {
    if (resource === motor("a")) throw new Error("bus is busy");
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject("late")));
  });
  const id = sessions.start("", "");
  await client.setPower({ name: "a" }, within(id));
  await client.setPower({ name: "b" }, within(id));
  await clock.advance(12_000);
  assert.equal(stopped.length, 2);
  assert.deepEqual(log.messages("error"), [
    "rdk:component:motor/a could not be stopped: bus is busy",
    "rdk:component:motor/b could not be stopped: the stop took longer than 10000 ms",
  ]);
});

Deno.test("endUnless() ends the sessions of who is no longer let in, and stops what they moved", async () => {
  const { sessions, stopped, client, within, caller, log } = setUp();
  const of = (entity: string): Identity => ({ entity, credentialType: "api-key", claims: {} });
  const ids = new Map<string, string>();
  for (const entity of ["gone", "stays"]) {
    const id = sessions.start(entity, "", of(entity));
    ids.set(entity, id);
    caller.entity = entity;
    await client.setPower({ name: entity }, within(id));
  }
  sessions.endUnless((owner) => owner?.entity === "stays");
  assert.deepEqual(stopped, [motor("gone")]);
  assert.deepEqual(sessions.list(), [ids.get("stays")]);
  assert.match(log.text(), /its caller is no longer authorized/);
  sessions.close();
});

Deno.test("close() stops nothing and leaves no timer", async () => {
  const { clock, stopped, sessions, client, within } = setUp();
  await client.setPower({ name: "a" }, within(sessions.start("", "")));
  sessions.close();
  await clock.advance(10_000);
  assert.deepEqual(stopped, []);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("isMonitored() reads the option of the methods that move something", () => {
  const moving = MotorService.methods.filter(isMonitored).map(({ name }) => name);
  assert.deepEqual(moving, ["SetPower", "GoFor", "GoTo", "SetRPM"]);
});

Deno.test("isMonitored() reads the option of an API that was learned by reflection", () => {
  const files = [];
  for (const pending = [MotorService.file]; pending.length > 0;) {
    const file = pending.pop()!;
    files.unshift(fromBinary(
      FileDescriptorProtoSchema,
      toBinary(FileDescriptorProtoSchema, file.proto),
    ));
    pending.push(...file.dependencies);
  }
  const unique = [...new Map(files.map((file) => [file.name, file])).values()];
  const set = { $typeName: FileDescriptorSetSchema.typeName, file: unique } as const;
  const learned = createFileRegistry(set).getService(MotorService.typeName);
  assert.notEqual(learned, MotorService);
  const moving = learned?.methods.filter(isMonitored).map(({ name }) => name);
  assert.deepEqual(moving, ["SetPower", "GoFor", "GoTo", "SetRPM"]);
});
