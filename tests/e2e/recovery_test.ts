import assert from "node:assert/strict";
import process from "node:process";
import type { JsonObject } from "@bufbuild/protobuf";
import { watchEnds } from "./process_tree.ts";
import type { Program } from "./program.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "./rig.ts";

/** Three questions of ten seconds each go unanswered before a server counts as hung. */
const HANG_DEADLINE_MS = 180_000;

const noProc = Deno.build.os !== "linux"; // Finds the server below the agent in /proc.

rigTest("the agent starts the server again when it was killed", async (rig) => {
  await rig.startCloud();
  const agent = await rig.startAgent();
  await rig.readings("fake");
  const killed = await killServer(rig, agent);

  await eventually("another server runs", async () => {
    const now = await rig.serversOf(agent);
    return now.length > 0 && now.every((pid) => !killed.includes(pid));
  });
  rig.forgetServerSession();
  await eventually("it answers", () => rig.readings("fake"));
}, { ignore: noProc });

rigTest("a new agent takes over when the agent was killed, and one server runs", async (rig) => {
  await rig.startCloud();
  const agent = await rig.startAgent();
  await rig.readings("fake");
  agent.signal("SIGKILL");
  await agent.waitForEnd();

  await rig.startAgent();
  rig.forgetServerSession();
  await eventually("the sensor answers", () => rig.readings("fake"));
  await rig.saveFakeReadings({ after: 1 });
  await eventually("the new server follows the configuration", async () => {
    return (await rig.readings("fake")).after === 1;
  });
}, { ignore: noProc });

rigTest(
  "the cloud has kept every save when it was killed, and the machine comes back",
  async (rig) => {
    const cloud = await rig.startCloud();
    await rig.startServer();
    await rig.saveFakeReadings({ kept: 1 });
    cloud.signal("SIGKILL");
    await cloud.waitForEnd();

    await rig.startCloud();
    assert.deepEqual((await rig.config()).components, rig.withFakeReadings({ kept: 1 }).components);
    await eventually("the machine is online again", async () => (await rig.liveStatus()).online);
    await rig.saveFakeReadings({ kept: 2 });
    await eventually("a save reaches the machine", async () => {
      return (await rig.readings("fake")).kept === 2;
    });
  },
);

rigTest("a server that hangs is killed and started again, and the status says so", async (rig) => {
  const config = rig.defaultConfig();
  const { version_control } = config["agent"] as JsonObject;
  await rig.bootstrap({
    ...config,
    agent: {
      version_control: version_control ?? {},
      advanced_settings: { machine_server_hang_timeout_minutes: "30s" },
    },
  });
  await rig.startCloud();
  const agent = await rig.startAgent();
  await rig.readings("fake");
  const hung = await rig.serversOf(agent);
  for (const pid of hung) process.kill(pid, "SIGSTOP");

  await eventually("another server runs", async () => {
    const now = await rig.serversOf(agent);
    return now.length > 0 && now.every((pid) => !hung.includes(pid));
  }, HANG_DEADLINE_MS);
  rig.forgetServerSession();
  await eventually("it answers", () => rig.readings("fake"));
  await eventually("the status says why", async () => {
    const exit = (await rig.liveStatus()).agent?.serverProcess?.lastExit;
    return exit === "does not answer any more";
  });
}, { ignore: noProc });

rigTest("ending the agent ends the server", async (rig) => {
  await rig.startCloud();
  const agent = await rig.startAgent();
  const servers = watchEnds(await rig.serversOf(agent));
  assert.ok(servers.running().length > 0);
  agent.signal("SIGTERM");
  assert.equal((await agent.waitForEnd()).code, 0);
  await eventually("the server is gone", () => Promise.resolve(servers.running().length === 0));
}, { ignore: noProc });

rigTest(
  "a server whose agent is restarted writes its ready line through the new agent",
  async (rig) => {
    await rig.startCloud();
    const first = await rig.startAgent();
    await first.stop(10_000);
    const second = await rig.startAgent();
    await second.waitForLine(READY_LINE, 90_000);
  },
  { ignore: noProc },
);

async function killServer(rig: Rig, agent: Program): Promise<number[]> {
  const pids = await rig.serversOf(agent);
  assert.ok(pids.length > 0, "no server runs below the agent");
  for (const pid of pids) process.kill(pid, "SIGKILL");
  return pids;
}
