/** Calls to a machine-micro-server that come through a real cloud. */
import assert from "node:assert/strict";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { systemClock } from "../../shared/base/time/clock.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { startMicro } from "./micro_machine.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

const COMPONENTS = [
  { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
  { name: "wheel", api: "rdk:component:motor", model: "rdk:builtin:fake" },
];

/** Calls the machine as SDKs do. @param key of somebody; left out: that of the owner */
async function dial(rig: Rig, key?: { readonly id: string; readonly key: string }) {
  const cloud = key ? await signIn(rig.cloudUrl, key) : await rig.cloud();
  const stop = new AbortController();
  const peer = await callPeer({
    client: cloud.client(SignalingService),
    host: rig.bootstrapped.fqdn,
    peers: weriftPeers({ clock: systemClock, log: memoryLogger("test") }),
    signal: stop.signal,
  });
  const transport = createDataChannelTransport(peer.channel);
  return {
    peer,
    auth: createClient(AuthService, transport),
    sensor: createClient(SensorService, transport),
    robot: createClient(RobotService, transport),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await peer.close();
    },
  };
}

async function online(rig: Rig) {
  await rig.startCloud();
  await rig.saveConfig({ components: COMPONENTS });
  const micro = await startMicro(rig);
  await micro.waitForLine("applied revision");
  return micro;
}

const codeOf = async (call: Promise<unknown>): Promise<Code | undefined> =>
  await call.then(() => undefined, (error) => ConnectError.from(error).code);

rigTest("a program calls a machine-micro-server through its cloud", async (rig) => {
  using micro = await online(rig);
  await using reached = await dial(rig);
  const { resources } = await reached.robot.resourceNames({});
  assert.deepEqual(resources.map(({ name }) => name), ["fake", "wheel"]);
  const all = await Promise.all(
    Array.from({ length: 200 }, () => reached.sensor.getReadings({ name: "fake" })),
  );
  assert.ok(all.every(({ readings }) => readings["a"]?.kind.value === 1));
  assert.equal(await codeOf(reached.sensor.getReadings({ name: "none" })), Code.NotFound);
  assert.equal(await codeOf(reached.robot.getModelsFromModules({})), Code.Unimplemented);
  assert.equal(await codeOf(reached.auth.authenticate({ entity: "x" })), Code.FailedPrecondition);
  await reached.robot.shutdown({});
  assert.equal(micro.restarts(), 1);
});

rigTest(
  "who may only operate it does no more through the cloud, and nothing without the key",
  async (rig) => {
    using micro = await online(rig);
    const app = (await rig.cloud()).client(AppService);
    const { machine_id: resourceId } = rig.bootstrapped;
    const key = await app.createKey({
      name: "operator",
      authorizations: [{
        ...{ authorizationId: "robot_operator", resourceType: "robot", resourceId },
      }],
    });
    await using reached = await dial(rig, key);
    await reached.sensor.getReadings({ name: "fake" });
    assert.equal(await codeOf(reached.robot.shutdown({})), Code.PermissionDenied);
    assert.equal(micro.restarts(), 0);
    await app.deleteKey({ id: key.id });
    await reached.peer.closed;
    assert.equal(await codeOf(reached.sensor.getReadings({ name: "fake" })), Code.Unavailable);
  },
);

rigTest(
  "calls through the cloud are back after the machine and the cloud were gone",
  async (rig) => {
    const cloud = await rig.startCloud();
    await rig.saveConfig({ components: COMPONENTS });
    {
      using micro = await startMicro(rig);
      await micro.waitForLine("applied revision");
      await using reached = await dial(rig);
      await reached.sensor.getReadings({ name: "fake" });
    }
    using _again = await startMicro(rig);
    const read = async () => {
      await using reached = await dial(rig);
      return await reached.sensor.getReadings({ name: "fake" });
    };
    await eventually("a reading after the machine", read);
    cloud.signal("SIGKILL");
    await cloud.exited;
    await rig.startCloud();
    await eventually("a reading after the cloud", read);
  },
);

rigTest(
  "machine call reaches a machine-micro-server, through the cloud and at its port",
  async (rig) => {
    using micro = await online(rig);
    const { api_key_id: id, api_key: key } = rig.bootstrapped;
    const env = { MACHINE_CLOUD_API_KEY_ID: id, MACHINE_CLOUD_API_KEY: key };
    const call = async (...args: string[]) => {
      const all = ["call", "bench", "fake", "readings", "--json", "--cloud", rig.cloudUrl, ...args];
      const { code, stdout, stderr } = await rig.run("machine", all, env);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout) as unknown;
    };
    const expected = { readings: { a: 1, b: 2, c: 3 } };
    assert.deepEqual(await call(), expected);
    assert.deepEqual(await call("--address", `http://127.0.0.1:${micro.port}`), expected);
  },
);
