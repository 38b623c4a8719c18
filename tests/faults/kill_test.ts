import assert from "node:assert/strict";
import { eventually, rigTest } from "../e2e/rig.ts";

/** Enough to meet each phase of a start and of a save several times, few enough for every run. */
const ROUNDS = 6;

rigTest("no acknowledged save is lost when the cloud is killed at any time", async (rig) => {
  let cloud = await rig.startCloud();
  for (let round = 1; round <= ROUNDS; round++) {
    let saved = 0;
    let killed = false;
    const saving = (async () => {
      for (let n = 1; !killed; n++) {
        try {
          await rig.saveFakeReadings({ round, n });
          saved = n;
        } catch (error) {
          if (!killed) throw error;
        }
      }
    })();
    await eventually("a few saves", () => Promise.resolve(saved >= round));
    killed = true;
    cloud.signal("SIGKILL");
    await cloud.waitForEnd();
    await saving;

    cloud = await rig.startCloud();
    const kept = JSON.stringify((await rig.config()).components);
    // The save under way when the cloud died may have been kept or not; no other may be missing.
    const [, n] = /"n":(\d+)/.exec(kept) ?? [];
    assert.match(kept, new RegExp(`"round":${round}\\b`));
    assert.ok(Number(n) === saved || Number(n) === saved + 1, `${saved} was saved, found ${kept}`);
  }
});

rigTest("the server starts with its last configuration however often it is killed", async (rig) => {
  await rig.startCloud();
  for (let round = 1; round <= ROUNDS; round++) {
    const server = await rig.startServer();
    rig.forgetServerSession();
    await eventually("the server follows", async () => {
      const { round: seen = 0 } = await rig.readings("fake");
      return seen === round - 1;
    });
    await rig.saveFakeReadings({ round });
    server.signal("SIGKILL");
    await server.waitForEnd();
  }
});

rigTest("the agent and its server start however often both are killed", async (rig) => {
  await rig.startCloud();
  for (let round = 1; round <= 3; round++) {
    const agent = await rig.startAgent();
    rig.forgetServerSession();
    await eventually("the sensor answers", () => rig.readings("fake"));
    agent.signal("SIGKILL");
    await agent.waitForEnd();
  }
}, { ignore: Deno.build.os !== "linux" });
