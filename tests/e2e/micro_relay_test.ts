/** Calls to a machine-micro-server that come through a real cloud. */
import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { dialThroughCloud as dial } from "./dial_through_cloud.ts";
import { startMicro } from "./micro_machine.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

const COMPONENTS = [
  { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
  { name: "wheel", api: "rdk:component:motor", model: "rdk:builtin:fake" },
];

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
    await cloud.waitForEnd();
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
