/** What keys of an operator and of an owner may do at a machine, on every way to it. */
import {
  create,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
} from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { createFetchClient } from "@connectrpc/connect/protocol";
import { createTransport as createGrpcWebTransport } from "@connectrpc/connect/protocol-grpc-web";
import assert from "node:assert/strict";
import { servedApis } from "../../server/serving/apis/all.ts";
import { Health } from "../../shared/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../shared/gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../shared/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { DiagnosticsService } from "../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import { EchoService } from "../../shared/gen/proto/rpc/examples/echo/v1/echo_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { StreamService } from "../../shared/gen/proto/stream/v1/stream_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { isMachineWide, LISTED_RIGHTS, machineRight } from "../../shared/rights/machine_methods.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { type ApiKey, signIn } from "../../tools/run/cloud_api.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

const KNOWN: ReadonlyMap<string, DescService> = new Map(
  [
    ...servedApis.map(({ service }) => service),
    ...[AuthService, DiagnosticsService, EchoService, Health, RobotService, ServerReflection],
    ...[ServerReflectionAlpha, SignalingService, StreamService],
  ].map((service) => [service.typeName, service]),
);

const sent = (authorization: string | undefined): Interceptor[] =>
  authorization === undefined ? [] : [(next) => (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  }];

function grpcWeb(baseUrl: string, authorization?: string): Transport {
  return createGrpcWebTransport({
    baseUrl,
    httpClient: createFetchClient(fetch),
    useBinaryFormat: true,
    interceptors: sent(authorization),
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: 32 * 1024 * 1024,
    writeMaxBytes: 32 * 1024 * 1024,
  });
}

/** All ways to a machine, with one key. */
class Ways implements Disposable {
  readonly #stop = new AbortController();
  readonly #peers = weriftPeers({ clock: systemClock, log: memoryLogger("caller") });
  readonly #open: { close(): void }[] = [];

  async of(rig: Rig, key: ApiKey): Promise<ReadonlyMap<string, Transport>> {
    const bearer = `Bearer ${(await signIn(rig.serverUrl, key)).accessToken}`;
    return new Map([
      ["gRPC", this.grpc(rig, bearer)],
      ["gRPC-web", grpcWeb(rig.serverUrl, bearer)],
      ["WebRTC, own port", await eventually("a call", () => this.#dial(rig, rig.serverUrl, key))],
      ["WebRTC, cloud", await eventually("a call", () => this.#dial(rig, rig.cloudUrl, key))],
    ]);
  }

  grpc(rig: Rig, authorization?: string): Transport {
    const transport = createGrpcTransport({
      baseUrl: rig.serverUrl,
      interceptors: sent(authorization),
    });
    this.#open.push(transport);
    return transport;
  }

  async #dial(rig: Rig, url: string, key: ApiKey): Promise<Transport> {
    const client = (await signIn(url, key)).client(SignalingService);
    const { signal } = this.#stop;
    const peer = await callPeer({
      client,
      host: rig.bootstrapped.fqdn,
      peers: this.#peers,
      signal,
    });
    return createDataChannelTransport(peer.channel);
  }

  [Symbol.dispose]() {
    this.#stop.abort(new Error("the test is over"));
    for (const transport of this.#open) transport.close();
  }
}

/**
 * How a call with an empty request ends; undefined: well, or not before it was cancelled, which is
 * late for a call that is to be refused: a busy host must not look like an open door.
 */
async function outcome(
  transport: Transport,
  method: DescMethod,
  isRefused = true,
): Promise<Code | undefined> {
  const stop = new AbortController();
  const giveUp = setTimeout(() => stop.abort(), isRefused ? 90_000 : 2_000);
  try {
    if (method.methodKind === "unary") {
      const unary = method as DescMethodUnary;
      await transport.unary(unary, stop.signal, undefined, undefined, create(method.input));
      return undefined;
    }
    const requests = async function* () {
      yield create(method.input);
    };
    const { message } = await transport.stream(
      method as DescMethodStreaming,
      stop.signal,
      undefined,
      undefined,
      requests(),
    );
    for await (const _ of message) return undefined;
  } catch (error) {
    return stop.signal.aborted ? undefined : ConnectError.from(error).code;
  } finally {
    clearTimeout(giveUp);
    stop.abort();
  }
}

async function served(transport: Transport): Promise<DescMethod[]> {
  const requests = async function* () {
    yield { messageRequest: { case: "listServices", value: "" } } as const;
  };
  for await (
    const { messageResponse } of createClient(ServerReflection, transport)
      .serverReflectionInfo(requests())
  ) {
    assert.ok(messageResponse.case === "listServicesResponse");
    return messageResponse.value.service.flatMap(({ name }) => {
      const service = KNOWN.get(name);
      assert.ok(service, `${name} is served, but this test does not know it`);
      return service.methods;
    });
  }
  return [];
}

/** How the JSON gateway answers a call with an empty request; undefined: it does not carry it. */
async function overJson(rig: Rig, key: ApiKey, method: DescMethod): Promise<number | undefined> {
  const api = servedApis.find(({ service }) => service.typeName === method.parent.typeName)?.api;
  const isRobot = method.parent.typeName === RobotService.typeName;
  if (method.methodKind !== "unary" || (!api && !isRobot)) return undefined;
  const path = isRobot ? `robot/${method.name}` : `${api}/shell/${method.name}`;
  const answer = await fetch(`${rig.serverUrl}/api/${path}`, {
    signal: AbortSignal.timeout(60_000),
    method: "POST",
    headers: { "key-id": key.id, key: key.key },
    body: "{}",
  });
  await answer.body?.cancel();
  return answer.status;
}

async function keyFor(rig: Rig, role: "owner" | "operator"): Promise<ApiKey> {
  const { id, key } = await (await rig.cloud()).client(AppService).createKey({
    name: role,
    authorizations: [{
      authorizationId: `robot_${role}`,
      resourceType: "robot",
      resourceId: rig.bootstrapped.machine_id,
    }],
  });
  await eventually("the machine to know the key", () => signIn(rig.serverUrl, { id, key }));
  return { id, key };
}

async function startWithShell(rig: Rig): Promise<void> {
  const shell = { name: "shell", api: "rdk:service:shell", model: "rdk:builtin:shell" };
  await rig.bootstrap({ ...rig.defaultConfig(), services: [shell] });
  await rig.startCloud();
  await rig.startServer(["-debug"]);
}

rigTest("every served method is for whom the table of rights says, on every way", async (rig) => {
  using ways = new Ways();
  await startWithShell(rig);
  const operatorKey = await keyFor(rig, "operator");
  const operator = await ways.of(rig, operatorKey);
  const owner = await ways.of(rig, await keyFor(rig, "owner"));
  const methods = await served(operator.get("gRPC")!);
  assert.ok(methods.length > 150, `${methods.length} methods`);

  const stranger = ways.grpc(rig);
  await Promise.all(methods.map(async (method) => {
    const { parent, name } = method;
    const path = `${parent.typeName}/${name}`;
    if (isMachineWide(parent.typeName)) assert.ok(LISTED_RIGHTS[parent.typeName]?.[name], path);
    const right = machineRight(parent.typeName, name);
    const unsigned = await outcome(stranger, method, right !== "open");
    assert.equal(unsigned === Code.Unauthenticated, right !== "open", `${path} without a key`);
  }));

  // gRPC-web by fetch cannot send a stream; what is open to all answers as it does on gRPC.
  for (const [way, transport] of operator) {
    await Promise.all(methods.map(async (method) => {
      const streams = method.methodKind === "bidi_streaming" ||
        method.methodKind === "client_streaming";
      if ((way === "gRPC-web" && streams) || method.parent.typeName === AuthService.typeName) {
        return;
      }
      const isForOwners = machineRight(method.parent.typeName, method.name) === "manage";
      const code = await outcome(transport, method, isForOwners);
      const path = `${method.parent.typeName}/${method.name}`;
      assert.equal(code === Code.PermissionDenied, isForOwners, `${path} by ${way}: ${code}`);
    }));
  }
  const carried: string[] = [];
  for (const method of methods) {
    const status = await overJson(rig, operatorKey, method);
    if (status === undefined) continue;
    const path = `${method.parent.typeName}/${method.name}`;
    const isForOwners = machineRight(method.parent.typeName, method.name) === "manage";
    assert.equal(status === 403, isForOwners, `${path} by /api: ${status}`);
    if (isForOwners) carried.push(method.name);
  }
  assert.ok(carried.includes("Shutdown") && carried.includes("DoCommand"), carried.join());
  for (const [way, transport] of owner) {
    const robot = createClient(RobotService, transport);
    assert.deepEqual((await robot.listTunnels({})).tunnels, [], way);
    const code = await outcome(transport, RobotService.method.restartModule);
    assert.notEqual(code, Code.PermissionDenied, way);
  }
});

rigTest("a grant that is taken back ends streams and connections on every way", async (rig) => {
  using ways = new Ways();
  await startWithShell(rig);
  const key = await keyFor(rig, "operator");
  const transports = await ways.of(rig, key);
  const ended = [...transports].filter(([way]) => way !== "gRPC-web").map(async ([way, each]) => {
    const forever = async function* () {
      yield { messageRequest: { case: "listServices", value: "" } } as const;
      await new Promise(() => {});
    };
    let answers = 0;
    try {
      const answered = createClient(ServerReflection, each).serverReflectionInfo(forever());
      for await (const _ of answered) {
        answers++;
        open.get(way)?.resolve();
      }
      return { way, answers, code: undefined };
    } catch (error) {
      return { way, answers, code: ConnectError.from(error).code };
    }
  });
  const open = new Map([...transports.keys()].map((way) => [way, Promise.withResolvers<void>()]));
  open.get("gRPC-web")?.resolve();
  await Promise.all([...open.values()].map(({ promise }) => promise));

  assert.equal(await overJson(rig, key, RobotService.method.getVersion), 200);
  await (await rig.cloud()).client(AppService).deleteKey({ id: key.id });
  for (const { way, answers, code } of await Promise.all(ended)) {
    assert.equal(answers, 1, way);
    assert.ok(code === Code.Unauthenticated || code === Code.Unavailable, `${way}: ${code}`);
  }
  const status = await overJson(rig, key, RobotService.method.getVersion);
  assert.equal(status, 401, "a token that /api keeps for a key ends with the key");
  const sensor = createClient(SensorService, transports.get("gRPC-web")!);
  const { code } = ConnectError.from(await sensor.getReadings({ name: "host" }).catch((e) => e));
  assert.equal(code, Code.Unauthenticated);
});

rigTest("auth.user_permissions hold a caller to what they name, on every way", async (rig) => {
  using ways = new Ways();
  await startWithShell(rig);
  const key = await keyFor(rig, "owner");
  const transports = await ways.of(rig, key);
  const robot = createClient(RobotService, transports.get("gRPC")!);
  assert.ok((await robot.listTunnels({})).tunnels);
  const config = await rig.config();
  const permissions = [
    { resources: ["fake"], allowed_methods: ["GetReadings"] },
    { allowed_methods: ["GetOperations", "StopAll"] },
  ];
  const user = { type: "api-key", id: key.id };
  await rig.saveConfig({ ...config, auth: { user_permissions: [{ user, permissions }] } });
  const code = (call: Promise<unknown>) =>
    call.then(() => undefined, (error) => ConnectError.from(error).code);
  await eventually("the permissions", async () => await code(robot.listTunnels({})) !== undefined);

  for (const [way, transport] of transports) {
    const sensor = createClient(SensorService, transport);
    const machine = createClient(RobotService, transport);
    const name = "fake";
    assert.equal(await code(sensor.getReadings({ name })), undefined, way);
    assert.equal(await code(machine.resourceNames({})), undefined, `${way}: what connecting needs`);
    assert.equal(await code(machine.stopAll({})), undefined, `${way}: named for the machine`);
    const codes = await Promise.all([
      sensor.getReadings({ name: "host" }),
      sensor.doCommand({ name }),
      sensor.getStatus({ name }),
      machine.shutdown({}),
      machine.getSessions({}),
    ].map(code));
    assert.deepEqual(codes, codes.map(() => Code.PermissionDenied), way);
  }
  const others = await rig.server();
  assert.ok((await others.client(SensorService).getReadings({ name: "host" })).readings);
});

rigTest("the machine's own secret is replaced, and the old one opens nothing then", async (rig) => {
  using ways = new Ways();
  await startWithShell(rig);
  const { part_id: id, part_secret: before, api_key_id, api_key } = rig.bootstrapped;
  const data = ["--data", `${rig.dir}/cloud`];
  const created = await rig.run("machine-cloud", ["secret", "create", ...data]);
  const key = created.stdout.trimEnd();
  assert.equal(created.code, 0, created.stderr);
  const old: ApiKey = { type: "robot-secret", id, key: before };
  const next: ApiKey = { type: "robot-secret", id, key };
  for (const each of [old, next]) {
    await eventually("the cloud to take both", () => signIn(rig.cloudUrl, each));
    await eventually("the machine to take both", () => signIn(rig.serverUrl, each));
  }

  const file = await fetch(`${rig.cloudUrl}/api/json1/config?client=true&id=${id}`, {
    signal: AbortSignal.timeout(60_000),
    headers: { key_id: api_key_id, key: api_key },
  });
  const credentials = await file.json();
  assert.equal(credentials.cloud.secret, key);
  await Deno.writeTextFile(rig.credentialsFile, JSON.stringify(credentials));
  await rig.programs.at(-1)!.stop(5_000);
  await rig.startServer();
  const held = ways.grpc(rig, `Bearer ${(await signIn(rig.serverUrl, old)).accessToken}`);
  assert.ok((await createClient(RobotService, held).getVersion({})).version);

  const list = await rig.run("machine-cloud", ["secret", "list", ...data]);
  const oldId = list.stdout.trimEnd().split("\n").at(-1)!.split(" ")[0]!;
  const deleted = await rig.run("machine-cloud", ["secret", "delete", ...data, oldId]);
  assert.equal(deleted.code, 0, deleted.stderr);
  await eventually("the machine to refuse the old one", async () => {
    return await outcome(held, RobotService.method.getVersion) === Code.Unauthenticated;
  });
  for (const url of [rig.cloudUrl, rig.serverUrl]) {
    await assert.rejects(() => signIn(url, old), /unauthenticated/);
    await signIn(url, next);
  }
  await eventually("the machine to be online", async () => (await rig.liveStatus()).online);
});
