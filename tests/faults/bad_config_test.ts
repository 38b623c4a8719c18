import assert from "node:assert/strict";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { FAKE_PART, FakeCloud } from "./fake_cloud.ts";

/** A machine polls every 10 s where nothing is pushed. */
const POLL_DEADLINE_MS = 60_000;

rigTest(
  "an invalid configuration that reaches the machine leaves the last good one running",
  async (rig) => {
    await using cloud = await FakeCloud.start();
    const bindAddress = `127.0.0.1:${rig.serverPort}`;
    cloud.config = cloud.machineConfig(bindAddress, 1);
    await writeCredentials(rig, cloud);
    await rig.startServer();
    await eventually("the sensor answers", async () => await reading(rig) === 1);

    const bad = cloud.machineConfig("nowhere in particular", 2);
    cloud.config = bad;
    const error = await eventually("the error is reported", () => {
      return Promise.resolve(cloud.configError || undefined);
    }, POLL_DEADLINE_MS);
    assert.match(error, /network\.bind_address/);
    assert.match(error, /nowhere in particular/);
    assert.equal(await reading(rig), 1);
    await eventually("the error is in the logs", () => {
      return Promise.resolve(cloud.logs.some((message) => message.includes("configuration")));
    });

    cloud.config = cloud.machineConfig(bindAddress, 3);
    await eventually("the next good one is applied", async () => {
      return await reading(rig) === 3 && cloud.configError === "";
    }, POLL_DEADLINE_MS);
  },
);

rigTest(
  "an invalid configuration is not what the machine starts with after a restart",
  async (rig) => {
    await using cloud = await FakeCloud.start();
    cloud.config = cloud.machineConfig(`127.0.0.1:${rig.serverPort}`, 1);
    await writeCredentials(rig, cloud);
    const first = await rig.startServer();
    await eventually("the sensor answers", async () => await reading(rig) === 1);

    cloud.config = cloud.machineConfig("nowhere in particular", 2);
    await eventually("the error is reported", () => {
      return Promise.resolve(cloud.configError || undefined);
    }, POLL_DEADLINE_MS);
    first.signal("SIGKILL");
    await first.waitForEnd();
    await rig.startServer();
    await eventually("the last good one runs", async () => await reading(rig) === 1);
  },
);

async function writeCredentials(rig: Rig, cloud: FakeCloud): Promise<void> {
  const file = { cloud: { app_address: cloud.url, ...FAKE_PART } };
  await Deno.writeTextFile(rig.credentialsFile, JSON.stringify(file));
}

async function reading(rig: Rig): Promise<unknown> {
  const session = await signIn(rig.serverUrl, {
    type: "robot-secret",
    id: FAKE_PART.id,
    key: FAKE_PART.secret,
  });
  const { readings } = await session.client(SensorService).getReadings({ name: "fake" });
  return readings.n?.kind.value;
}
