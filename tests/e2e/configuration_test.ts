import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { ResourceStatus_State } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { eventually, rigTest } from "./rig.ts";

rigTest(
  "a reading of the host is at the server, at the cloud, and the logs are there too",
  async (rig) => {
    await rig.startCloud();
    await rig.startAgent();

    const atServer = await eventually("the host sensor answers", () => rig.readings("host"));
    assert.ok(Object.keys(atServer).length >= 5, JSON.stringify(atServer));
    const atCloud = await eventually("the reading is at the cloud", async () => {
      const status = await rig.liveStatus();
      return status.online && status.readings.find((entry) => entry.name === "host")?.readings;
    });
    assert.deepEqual(Object.keys(atCloud).sort(), Object.keys(atServer).sort());
    await eventually("the server's ready line is among the part's logs", async () => {
      return (await rig.logs("serving")).includes("serving");
    });
  },
);

rigTest(
  "a saved configuration changes, adds and takes away what GetReadings answers",
  async (rig) => {
    await rig.startCloud();
    await rig.startServer();
    assert.deepEqual(await eventually("fake answers", () => rig.readings("fake")), {
      a: 1,
      b: 2,
      c: 3,
    });

    await rig.saveFakeReadings({ temperature: 21.5 });
    await eventually("fake answers the new readings", async () => {
      return (await rig.readings("fake")).temperature === 21.5;
    });

    const config = await rig.config();
    assert.ok(Array.isArray(config.components));
    await rig.saveConfig({
      ...config,
      components: [...config.components, {
        name: "second",
        api: "rdk:component:sensor",
        model: "rdk:builtin:fake",
        attributes: { readings: { x: 1 } },
      }],
    });
    await eventually("the second sensor answers", () => rig.readings("second"));

    await rig.saveConfig({ ...rig.defaultConfig(), components: [] });
    await eventually("all sensors are gone", async () => {
      const status = await rig.machineStatus();
      return status.resources.every((resource) => resource.name?.subtype !== "sensor");
    });
  },
);

rigTest("the history keeps every earlier configuration with who and when", async (rig) => {
  await rig.startCloud();
  const before = Date.now();
  await rig.saveFakeReadings({ n: 1 });
  await rig.saveFakeReadings({ n: 2 });

  const app = (await rig.cloud()).client(AppService);
  const { history } = await app.getRobotPartHistory({ id: rig.partId });
  const kept = history.map((entry) => JSON.stringify(entry.old?.robotConfig ?? {}));
  assert.match(kept[0] ?? "", /"n":1/);
  assert.doesNotMatch(kept[1] ?? "", /"n":/);
  for (const entry of history.slice(0, 2)) {
    assert.equal(entry.editedBy?.value, rig.bootstrapped.api_key_id);
    assert.ok(Number(entry.when?.seconds) * 1000 >= before - 1000);
  }
});

rigTest(
  "an invalid configuration is refused at the save, with path, found and allowed",
  async (rig) => {
    await rig.startCloud();
    const before = await rig.config();
    const app = (await rig.cloud()).client(AppService);
    const history = async () => (await app.getRobotPartHistory({ id: rig.partId })).history.length;
    const revisions = await history();

    await assert.rejects(
      rig.saveConfig({ ...before, components: [{ name: 7, api: "rdk:component:sensor" }] }),
      (error) => {
        assert.ok(error instanceof ConnectError);
        assert.equal(error.code, Code.InvalidArgument);
        assert.match(error.rawMessage, /components\[0\]\.name/);
        assert.match(error.rawMessage, /7/);
        return true;
      },
    );
    assert.deepEqual(await rig.config(), before);
    assert.equal(await history(), revisions);
  },
);

rigTest(
  "a resource that cannot be built is unhealthy and says why, the others answer",
  async (rig) => {
    await rig.startCloud();
    await rig.startServer();
    const config = rig.defaultConfig();
    assert.ok(Array.isArray(config.components));
    await rig.saveConfig({
      ...config,
      components: [...config.components, {
        name: "odd",
        api: "rdk:component:sensor",
        model: "acme:demo:unknown",
      }],
    });
    const odd = await eventually("odd is unhealthy", async () => {
      const { resources } = await rig.machineStatus();
      const found = resources.find((resource) => resource.name?.name === "odd");
      return found?.state === ResourceStatus_State.UNHEALTHY && found;
    });
    assert.match(odd.error, /acme:demo:unknown/);
    assert.deepEqual(await rig.readings("fake"), { a: 1, b: 2, c: 3 });
  },
);

rigTest(
  "a wrong key is UNAUTHENTICATED at cloud and server, with the type of credential",
  async (rig) => {
    await rig.startCloud();
    await rig.startServer();
    for (const url of [rig.cloudUrl, rig.serverUrl]) {
      for (const id of [rig.bootstrapped.api_key_id, crypto.randomUUID()]) {
        await assert.rejects(signIn(url, { id, key: "wrong" }), (error) => {
          assert.ok(error instanceof ConnectError);
          assert.equal(error.code, Code.Unauthenticated);
          assert.match(error.rawMessage, /api-key/);
          return true;
        });
      }
    }
  },
);
