import assert from "node:assert/strict";
import { eventually, rigTest } from "./rig.ts";

rigTest("the server runs on, and starts, from its cache while the cloud is gone", async (rig) => {
  const cloud = await rig.startCloud();
  const server = await rig.startServer();
  await rig.saveFakeReadings({ cached: 1 });
  await eventually("the save arrives", async () => (await rig.readings("fake")).cached === 1);
  await cloud.stop(5_000);
  assert.equal((await rig.readings("fake")).cached, 1);

  server.signal("SIGKILL");
  await server.waitForEnd();
  await rig.startServer();
  rig.forgetServerSession();
  assert.equal((await eventually("it answers", () => rig.readings("fake"))).cached, 1);

  await rig.startCloud();
  await rig.saveFakeReadings({ cached: 2 });
  await eventually("it follows the cloud again", async () => {
    return (await rig.readings("fake")).cached === 2;
  });
});

rigTest("the agent starts the server from its cache while the cloud is gone", async (rig) => {
  const cloud = await rig.startCloud();
  const agent = await rig.startAgent();
  await rig.readings("fake");
  await cloud.stop(5_000);
  await agent.stop(10_000);

  await rig.startAgent();
  rig.forgetServerSession();
  await eventually("the sensor answers", () => rig.readings("fake"));
});

rigTest(
  "log lines written while the cloud is gone arrive once it is back, in order",
  async (rig) => {
    const cloud = await rig.startCloud();
    const server = await rig.startServer();
    await eventually("logs arrive", async () => (await rig.logs("serving")).length > 0);
    await cloud.stop(5_000);

    // A restart is sure to write lines; the first process also has to leave its queue on disk.
    server.signal("SIGKILL");
    await server.waitForEnd();
    const second = await rig.startServer();
    await second.waitForLine(/configuration applied/, 90_000);
    await second.stop(10_000);
    await rig.startServer();

    await rig.startCloud();
    const lines = await eventually("both starts are in the cloud's log", async () => {
      const found = await rig.logs("serving");
      return found.filter((message) => message === "serving").length >= 3 && found;
    });
    assert.ok(lines.length >= 3);
  },
);
