/** Machines that have one another as remotes. */
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { AudioInService } from "../../../shared/gen/viam/component/audioin/v1/audioin_pb.ts";
import { GenericService } from "../../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  GetMachineStatusResponse_State,
  RobotService,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { learnService } from "../../../shared/rpc/client/reflection_client.ts";
import { weriftPeers } from "../../../shared/rtc/webrtc/werift_peers.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { dialRemote } from "../../remotes/dial.ts";
import { remoteSettings } from "../../remotes/remote_settings.ts";
import { fake, TestMachine } from "./remotes_testing.ts";

const KEY = "0123456789abcdef0123456789abcdef";

Deno.test("a remote's resources are there, are called, stream, go and come back", async () => {
  const farConfig = {
    components: [
      fake("sensor", "s", { readings: { n: 7 } }),
      fake("motor", "m", { max_rpm: 100 }),
      fake("audio_in", "a"),
      fake("generic", "own"),
    ],
  };
  const port = freePort();
  let far = await TestMachine.start(farConfig, { port });
  await using near = await TestMachine.start({
    components: [
      fake("generic", "own"),
      fake("generic", "dependent", {}, { depends_on: ["far:s", "m"] }),
      fake("sensor", "apart"),
    ],
    remotes: [{ name: "far", address: far.address }],
  });
  try {
    await near.until("dependent", /^ready$/);
    assert.equal((await near.status())["remote far"], "ready");
    const all = ["apart", "dependent", "far:a", "far:m", "far:own", "far:s", "own"];
    assert.deepEqual(await near.names(), all);

    const sensors = createClient(SensorService, near.transport);
    for (const name of ["far:s", "s"]) {
      const { readings } = await sensors.getReadings({ name });
      assert.equal(readings["n"]?.kind.value, 7, name);
    }
    const motor = createClient(MotorService, near.transport);
    await motor.setPower({ name: "far:m", powerPct: 0.5 });
    assert.equal((await motor.isPowered({ name: "m" })).isOn, true);
    await assert.rejects(() => motor.goFor({ name: "m", rpm: 0, revolutions: 1 }), /0 RPM/);
    const audio = createClient(AudioInService, near.transport);
    let chunks = 0;
    for await (const _ of audio.getAudio({ name: "far:a", durationSeconds: 0.2 })) chunks++;
    assert.ok(chunks > 0);
    const generic = createClient(GenericService, near.transport);
    assert.deepEqual((await generic.doCommand({ name: "far:own", command: { x: 1 } })).result, {
      x: 1,
    });

    const since = async () =>
      (await near.robot.getMachineStatus({})).resources
        .find(({ name }) => name?.name === "apart")?.lastUpdated;
    const before = await since();
    await far[Symbol.asyncDispose]();
    const why = await near.until("remote far", /cannot be reached/);
    assert.match(why, /check address, network and that it runs/);
    assert.match(await near.until("far:s", /not connected/), /^remote far is not connected/);
    assert.match(await near.until("dependent", /waiting/), /dependency .*far:[sm]: remote far is/);
    const lost = await sensors.getReadings({ name: "s" }).catch((error) =>
      ConnectError.from(error)
    );
    assert.equal((lost as ConnectError).code, Code.Unavailable);
    assert.deepEqual(await near.names(), ["apart", "own"]);

    far = await TestMachine.start(farConfig, { port });
    await near.until("dependent", /^ready$/);
    assert.equal((await sensors.getReadings({ name: "far:s" })).readings["n"]?.kind.value, 7);
    assert.deepEqual(await since(), before, "what does not depend on it was left alone");

    await far.configure({ components: [fake("sensor", "s"), fake("sensor", "late")] });
    await near.until("far:late", /^ready$/);
    await near.until("dependent", /no resource "m"/);
  } finally {
    await far[Symbol.asyncDispose]();
  }
});

Deno.test("remotes have remotes, and a circle of machines ends", async () => {
  const [portA, portC] = [freePort(), freePort()];
  const frame = { parent: "world" };
  const remote = (name: string, port: number) => ({ name, address: `127.0.0.1:${port}`, frame });
  await using b = await TestMachine.start({
    components: [fake("sensor", "of-b", {}, { frame })],
    remotes: [remote("c", portC), remote("a", portA)],
  });
  await using a = await TestMachine.start({
    components: [fake("sensor", "of-a", {}, { frame })],
    remotes: [{ ...remote("b", b.port), prefix: "x-" }, remote("me", portA)],
  }, { port: portA });
  await using c = await TestMachine.start({
    components: [fake("sensor", "of-c", { readings: { n: 3 } }, { frame })],
    remotes: [remote("b", b.port)],
  }, { port: portC });

  assert.match(await a.until("remote me", /itself/), /take it out of the configuration/);
  await a.until("b:c:x-of-c", /^ready$/);
  const sensors = createClient(SensorService, a.transport);
  for (const name of ["b:c:x-of-c", "x-of-c"]) {
    assert.equal((await sensors.getReadings({ name })).readings["n"]?.kind.value, 3);
  }
  await c.until("b:a:of-a", /^ready$/);
  await b.until("a:of-a", /^ready$/);
  // Every machine sees every resource of the others, and none its own.
  await waitFor(async () => {
    const names = [await a.names(), await b.names(), await c.names()];
    assert.deepEqual(names[0], ["b:c:x-of-c", "b:x-of-b", "of-a"]);
    assert.deepEqual(names[1], ["a:of-a", "c:of-c", "of-b"]);
    assert.deepEqual(names[2], ["b:a:of-a", "b:of-b", "of-c"]);
    return true;
  }, { deadlineMs: 60_000, everyMs: 100 });
  assert.match(a.log.text(), /b:a is this machine itself; it is left out/);
  const { frameSystemConfigs } = await a.robot.frameSystemConfig({});
  assert.deepEqual(frameSystemConfigs.map(({ frame }) => frame?.referenceFrame).toSorted(), [
    ...["b:c:x-of-c", "b:x-c_world", "b:x-of-b", "b_world", "of-a"],
  ]);
});

Deno.test("a remote that is wrong is in status with what to do, and the rest runs", async () => {
  await using far = await TestMachine.start({
    components: [fake("sensor", "s"), fake("motor", "broken", { max_rpm: -1 })],
    auth: { handlers: [{ type: "api-key", config: { id: KEY } }] },
  });
  const { address } = far;
  const key = (payload: string) => ({
    entity: "id",
    credentials: { type: "api-key", payload },
  });
  await using near = await TestMachine.start({
    components: [fake("sensor", "own"), fake("generic", "g", {}, { depends_on: ["wrong:s"] })],
    remotes: [
      { name: "right", address, auth: key(KEY) },
      { name: "twin", address, auth: key(KEY) },
      { name: "wrong", address, auth: key("nonsense") },
      { name: "nobody", address },
      { name: "nowhere", address: `127.0.0.1:${freePort()}` },
      { name: "odd", address: "a b" },
    ],
  });
  assert.match(await near.until("remote wrong", /refuses/), /check auth.entity and auth.credent/);
  assert.match(await near.until("remote nobody", /sign in; /), /add auth with one of its API keys/);
  assert.match(await near.until("remote nowhere", /reached/), /check address, network/);
  assert.match(await near.until("remote odd", /names no host/), /write host or host:port/);
  await near.until("remote right", /^ready$/);
  await near.until("right:s", /^ready$/);
  await near.until("twin:s", /^ready$/);
  assert.match(await near.until("right:broken", /remote/), /^on remote right: .*max_rpm/);
  assert.match(await near.until("g", /wrong/), /waiting for remote wrong: it refuses the credent/);
  const clash = createClient(SensorService, near.transport).getReadings({ name: "s" });
  await assert.rejects(() => clash, /multiple nodes.*call one of right:s, twin:s/);
  assert.equal((await near.status())["own"], "ready");
});

Deno.test("what a caller moved on a remote stops when the caller falls silent", async () => {
  const sessions = { heartbeat_window: "500ms" };
  await using far = await TestMachine.start({
    components: [fake("motor", "m", { max_rpm: 100 })],
    network: { sessions },
  });
  await using near = await TestMachine.start({
    remotes: [{ name: "far", address: far.address }],
    network: { sessions },
  });
  await near.until("far:m", /^ready$/);
  const motor = createClient(MotorService, near.transport);
  const isOn = async () =>
    (await createClient(MotorService, far.transport).isPowered({ name: "m" })).isOn;
  const { id } = await near.robot.startSession({});
  await motor.setPower({ name: "m", powerPct: 1 }, { headers: { "viam-sid": id } });
  assert.equal(await isOn(), true);
  await waitFor(async () => !await isOn(), { deadlineMs: 60_000 });

  // Without a session it continues for as long as the machine in between is there.
  await motor.setPower({ name: "m", powerPct: 1 });
  assert.deepEqual((await far.robot.getSessions({})).sessions.length, 1);
  assert.equal(await isOn(), true);
  await near.configure({});
  await waitFor(async () => !await isOn(), { deadlineMs: 60_000 });
});

Deno.test("the frames of a remote stand where the remote stands", async () => {
  const frame = (parent: string, x: number) => ({ parent, translation: { x, y: 0, z: 0 } });
  await using far = await TestMachine.start({
    components: [
      fake("arm", "arm", {}, { frame: frame("world", 10) }),
      fake("sensor", "tip", {}, { frame: frame("arm_origin", 1) }),
    ],
  });
  await using near = await TestMachine.start({
    remotes: [
      { name: "far", address: far.address, prefix: "l-", frame: frame("cart", 1_000) },
      { name: "gone", address: `127.0.0.1:${freePort()}`, frame: frame("world", 1) },
    ],
    components: [
      fake("base", "cart", {}, { frame: frame("world", 100) }),
      fake("sensor", "rider", {}, { frame: frame("far:l-tip", 0.5) }),
    ],
  });
  await near.until("far:l-tip", /^ready$/);
  const { frameSystemConfigs } = await near.robot.frameSystemConfig({});
  const parents = frameSystemConfigs.map(({ frame }) =>
    `${frame?.referenceFrame} in ${frame?.poseInObserverFrame?.referenceFrame}`
  );
  assert.deepEqual(parents.sort(), [
    "cart in world",
    "far:l-arm in far_world",
    "far:l-tip in far:l-arm_origin",
    "far_world in cart",
    "rider in far:l-tip",
  ]);
  const arm = frameSystemConfigs.find(({ frame }) => frame?.referenceFrame === "far:l-arm");
  assert.ok(arm?.model ?? arm?.kinematics, "its joints come along");
  const { pose } = await near.robot.getPose({ componentName: "rider", destinationFrame: "world" });
  assert.equal(pose?.pose?.x, 1_111.5);
  await near.robot.getPose({ componentName: "far:l-arm", destinationFrame: "far_world" });
});

Deno.test("a remote is reached over WebRTC by its own signalling", async () => {
  await using far = await TestMachine.start({
    components: [fake("sensor", "s", { readings: { n: 5 } }), fake("audio_in", "a")],
  }, { webrtc: true });
  await using near = await TestMachine.start({
    remotes: [{ name: "far", address: far.address }],
  }, { webrtc: true });
  await near.until("far:s", /^ready$/);
  assert.match(near.log.text(), /remote far is connected.*"over":"webrtc"/);
  const sensors = createClient(SensorService, near.transport);
  assert.equal((await sensors.getReadings({ name: "s" })).readings["n"]?.kind.value, 5);
  const audio = createClient(AudioInService, near.transport);
  let chunks = 0;
  for await (const _ of audio.getAudio({ name: "a", durationSeconds: 0.2 })) chunks++;
  assert.ok(chunks > 0);
});

Deno.test("a server of another make that has this machine as its remote gets what it asks", async () => {
  await using far = await TestMachine.start({
    components: [
      fake("motor", "m", { max_rpm: 100 }, { frame: { parent: "world" } }),
      fake("sensor", "s", { readings: { n: 5 } }),
    ],
    auth: { handlers: [{ type: "api-key", config: { id: KEY } }] },
  }, { webrtc: true });
  const stranger = await far.robot.resourceNames({}).catch((error) => ConnectError.from(error));
  assert.equal((stranger as ConnectError).code, Code.Unauthenticated);
  const log = memoryLogger();
  const { signal } = new AbortController();
  for (const [webrtc, way] of [[true, "webrtc"], [false, "plaintext"]] as const) {
    const link = await dialRemote(
      remoteSettings({
        ...{ name: "far", address: far.address },
        auth: { entity: "id", credentials: { type: "api-key", payload: KEY } },
      }),
      {
        ...{ webrtc, allowInsecure: false, cloudSignaling: () => undefined, clock: systemClock },
        ...{ log, peers: () => Promise.resolve(weriftPeers({ clock: systemClock, log })) },
      },
      signal,
    );
    try {
      assert.equal(link.way, way);
      const services = await askAsParent(link.channel.transport);
      // It learns all of them; over one of the two ways that is enough here.
      const learned = webrtc ? [MotorService.typeName] : services;
      for (const service of learned) {
        await learnService(link.channel.transport, service, { signal });
      }
    } finally {
      link.close();
    }
  }
});

/**
 * The calls of a server in Go to its remote, in its order and with its metadata.
 *
 * @returns the services that it asks the remote's reflection for.
 */
async function askAsParent(transport: Transport): Promise<string[]> {
  const headers = { viam_client: "go;v0.90.0;v0.1.400", opid: crypto.randomUUID() };
  const robot = createClient(RobotService, transport);
  const list = async () => {
    const { resources } = await robot.resourceNames({}, { headers });
    const { resourceRpcSubtypes: apis } = await robot.resourceRPCSubtypes({}, { headers });
    return {
      names: resources.filter(({ type }) => type === "component").map(({ name }) => name).sort(),
      services: apis.map(({ protoService }) => protoService),
    };
  };
  const first = await list();
  assert.deepEqual(first.names, ["m", "s"]);
  assert.ok(first.services.includes(MotorService.typeName));
  const { frameSystemConfigs } = await robot.frameSystemConfig({}, { headers });
  assert.deepEqual(frameSystemConfigs.map(({ frame }) => frame?.referenceFrame), ["m"]);
  // What it adds to its own status; a remote without a cloud has none.
  const metadata = await robot.getCloudMetadata({}).catch((error) => ConnectError.from(error));
  assert.equal((metadata as ConnectError).code, Code.FailedPrecondition);
  const status = await robot.getMachineStatus({}, { headers });
  assert.equal(status.state, GetMachineStatusResponse_State.RUNNING);

  const { id, heartbeatWindow } = await robot.startSession({ resume: "" }, { headers });
  assert.equal(heartbeatWindow?.seconds, 2n);
  await robot.sendSessionHeartbeat({ id }, { headers });
  const motor = createClient(MotorService, transport);
  let safety = "";
  await motor.setPower({ name: "m", powerPct: 0.5 }, {
    headers: { ...headers, "viam-sid": id },
    onHeader: (header) => safety = header.get("viam-smrn") ?? "",
  });
  assert.equal(safety, "rdk:component:motor/m");
  const sensors = createClient(SensorService, transport);
  const { readings } = await sensors.getReadings({ name: "s" }, { headers });
  assert.equal(readings["n"]?.kind.value, 5);
  await motor.stop({ name: "m" }, { headers });
  assert.equal((await motor.isPowered({ name: "m" }, { headers })).isOn, false);
  const old = await robot.sendSessionHeartbeat({ id: crypto.randomUUID() })
    .catch((error) => ConnectError.from(error)) as ConnectError;
  assert.deepEqual([old.code, old.rawMessage], [Code.InvalidArgument, "SESSION_EXPIRED"]);
  // It looks at its remote again every few seconds.
  assert.deepEqual(await list(), first);
  return first.services;
}
