import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { ConsoleService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import {
  AgentService,
  AgentStatusSchema,
  ProgramStatus_State as State,
  Rollout_State,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import {
  addRelease,
  releases,
  type TestMachine,
  testMachine,
} from "../catalogue/releases_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { AgentStatuses } from "./agent_statuses.ts";

const NEW = { binary: "machine-server", version: "2.0.0" };

async function live(cloud: TestCloud, { made }: TestMachine) {
  return await cloud.client(ConsoleService, apiKey(made))
    .getPartLiveStatus({ partId: made.part_id });
}

/** Machines m0, m1 … that run 1.0.0 and follow stable, with 2.0.0 rolled out to all of them. */
async function fleet(cloud: TestCloud, count: number, clock: FakeClock) {
  const machines: TestMachine[] = [];
  for (let at = 0; at < count; at++) {
    const machine = await testMachine(cloud, `m${at}`, "stable", at === 0 ? ["canary"] : []);
    await machine.report({ installed: "1.0.0", running: "1.0.0", state: State.IDLE });
    machines.push(machine);
  }
  const [first] = machines;
  assert.ok(first);
  const client = releases(cloud, first.made);
  await addRelease(client, "1.0.0");
  await addRelease(client, "2.0.0", { rollout: { percent: 100 } });
  await clock.advance(1);
  return { machines, client };
}

const done = { installed: "2.0.0", running: "2.0.0", target: "2.0.0", state: State.IDLE };
const failed = (reason: string, ms: number) => ({
  installed: "1.0.0",
  running: "1.0.0",
  target: "2.0.0",
  state: State.REFUSED,
  bad: [{ version: "2.0.0", reason, at: timestampFromMs(ms) }],
});

Deno.test("ReportAgentStatus() shows the whole status to who may see the machine", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const machine = await testMachine(cloud, "one", "stable");
  const at = timestampFromMs(1_700_000_000_000);
  const status = {
    platform: "linux/amd64",
    waitingFor: "the maintenance window",
    waitingSince: at,
    agentStarted: at,
    serverProcess: { state: "running", since: at, failures: 1, lastExit: "signal 9" },
    settingsProblems: ["agent.advanced_settings.debug: no"],
    networks: { state: "online", since: at, detail: "by cloud", reboots: 1 },
    agent: { installed: "0.5.0", running: "0.5.0", state: State.IDLE },
    server: {
      installed: "1.0.0",
      running: "1.0.0",
      target: "2.0.0",
      previous: "0.9.0",
      state: State.WAITING,
      bytesDownloaded: 5n,
      totalBytes: 10n,
      error: "none",
      lastChanged: at,
      waitingFor: "the maintenance window",
      waitingSince: at,
      bad: [{ version: "1.5.0", reason: "it crashed", at }],
      lastRollback: { from: "1.5.0", to: "1.0.0", reason: "it crashed", at },
      trialUntil: at,
    },
  };
  await machine.reportAll(status);
  const shown = await live(cloud, machine);
  assert.deepEqual(shown.agent, create(AgentStatusSchema, status));
  assert.equal(Number(shown.agentReportedAt?.seconds) * 1_000, clock.now().getTime());
  assert.equal(shown.agentVersion, "0.5.0");
  assert.equal(shown.online, false, "an agent alone does not make its machine online");
});

Deno.test("ReportAgentStatus() keeps what is long short and addresses without secrets", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one");
  const long = "x".repeat(5_000);
  await machine.reportAll({
    waitingFor: long,
    settingsProblems: Array.from({ length: 500 }, () => long),
    networks: { state: long, detail: long },
    server: {
      installed: "customURL+https://a:b@host/x?token=abc",
      error: "cannot fetch https://a:word@host/x?token=abcdef",
      bad: Array.from({ length: 100 }, (_, at) => ({ version: `1.0.${at}`, reason: long })),
    },
  });
  const { agent } = await live(cloud, machine);
  assert.equal(agent?.waitingFor.length, 1_001);
  assert.equal(agent.settingsProblems.length, 50);
  assert.deepEqual(
    [agent.networks?.state.length, agent.networks?.detail.length],
    [1_001, 1_001],
  );
  assert.equal(agent.server?.installed, "customURL+https://host/x");
  assert.equal(agent.server.error, "cannot fetch https://******@host/x?token=******");
  assert.deepEqual([agent.server.bad.length, agent.server.bad.at(-1)?.version], [20, "1.0.99"]);
  assert.equal(agent.server.bad[0]?.reason.length, 1_001);
});

Deno.test("AgentService answers the part itself, and nobody of another one", async () => {
  await using cloud = await TestCloud.open();
  const one = await testMachine(cloud, "one");
  const two = await testMachine(cloud, "two");
  const asOne = cloud.client(AgentService, partSecret(one.made));
  const partId = two.made.part_id;
  assert.equal((await failure(asOne.getTargets({ partId }))).code, Code.NotFound);
  assert.equal(
    (await failure(asOne.reportAgentStatus({ partId, status: {} }))).code,
    Code.NotFound,
  );
  const { code } = await failure(asOne.reportAgentStatus({ partId: one.made.part_id }));
  assert.equal(code, Code.InvalidArgument);
});

Deno.test("a rollout counts machines and stops by itself when too many roll back", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { machines: [a, b, c, d], client } = await fleet(cloud, 4, clock);
  assert.ok(a && b && c && d);
  const settings = { percent: 100, stopPercent: 40, stopMinimum: 2 };
  await client.setRollout({ ...NEW, settings });
  const state = async () => {
    const [rollout] = (await client.listRollouts({})).rollouts;
    const { pending, updating, done, rolledBack } = rollout?.progress ?? {};
    return [Rollout_State[rollout?.state ?? 0], pending, updating, done, rolledBack];
  };

  assert.deepEqual(await state(), ["RUNNING", 4, 0, 0, 0]);
  const fetching = { installed: "1.0.0", running: "1.0.0", target: "2.0.0" };
  await a.report({ ...fetching, state: State.DOWNLOADING });
  assert.deepEqual(await state(), ["RUNNING", 3, 1, 0, 0]);
  await a.report({ ...done, state: State.TRIAL });
  assert.deepEqual(await state(), ["RUNNING", 3, 1, 0, 0]);
  await a.report(done);
  assert.deepEqual(await state(), ["RUNNING", 3, 0, 1, 0]);
  await b.report(done);
  await c.report(failed("no ready line", 1));
  assert.deepEqual(await state(), ["RUNNING", 1, 0, 2, 1], "33 % are less than 40 %");
  assert.equal((await d.target("1.0.0")).version, "2.0.0");
  await d.report({ ...failed("it crashed", 2), lastRollback: { from: "2.0.0", reason: "x" } });
  assert.deepEqual(await state(), ["STOPPED", 0, 0, 2, 2]);

  const [stopped] = (await client.listRollouts({})).rollouts;
  assert.match(stopped?.reason ?? "", /2 of 4 machines that tried it rolled back, and 40 %/);
  assert.deepEqual(
    stopped?.progress?.problems.map(({ machineName, reason }) => [machineName, reason]).toSorted(),
    [["m2", "no ready line"], ["m3", "it crashed"]],
  );
  assert.match((await d.target("1.0.0")).heldBack, /2\.0\.0 was stopped: 2 of 4/);
  assert.equal((await d.target("1.0.0")).version, "1.0.0");
  assert.equal((await a.target("2.0.0")).version, "2.0.0", "what runs it keeps it");
});

Deno.test("ResumeRollout() goes on, and counts only what comes after it", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { machines: [a, b], client } = await fleet(cloud, 2, clock);
  assert.ok(a && b);
  const stateOf = async () => (await client.listRollouts({})).rollouts[0]?.state;
  await a.report(failed("it crashed", 1));
  assert.equal(await stateOf(), Rollout_State.STOPPED, "the first one of one is 100 %");
  await clock.advance(1);
  const { rollout } = await client.resumeRollout(NEW);
  assert.deepEqual([rollout?.state, rollout?.reason], [Rollout_State.RUNNING, ""]);
  await a.report(failed("it crashed", 1));
  assert.equal(await stateOf(), Rollout_State.RUNNING, "it is the same rollback, told again");
  assert.equal((await a.target("1.0.0")).version, "2.0.0");
  await b.report(done);
  await a.report(failed("it crashed again", 2));
  assert.equal(await stateOf(), Rollout_State.STOPPED);

  await client.resumeRollout(NEW);
  await client.pauseRollout(NEW);
  await client.setRollout({ ...NEW, settings: { percent: 50 } });
  assert.equal(await stateOf(), Rollout_State.PAUSED, "settings do not start it");
  assert.match((await a.target("1.0.0")).heldBack, /rollout of 2\.0\.0 is paused/);
  await client.setRollout(NEW);
  assert.deepEqual((await client.listRollouts({})).rollouts, []);
  assert.equal((await a.target("1.0.0")).version, "2.0.0");
  assert.equal((await failure(client.pauseRollout(NEW))).code, Code.FailedPrecondition);
});

Deno.test("rollbacks from before a resume, and while it is paused, stop no rollout", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { machines: [a, b, c, d, e], client } = await fleet(cloud, 5, clock);
  assert.ok(a && b && c && d && e);
  await client.setRollout({ ...NEW, settings: { percent: 100, stopPercent: 40 } });
  const stateOf = async () => (await client.listRollouts({})).rollouts[0]?.state;
  await a.report(failed("it crashed", 1));
  assert.equal(await stateOf(), Rollout_State.STOPPED);
  await clock.advance(1);
  await client.resumeRollout(NEW);
  await b.report(done);
  await c.report(done);
  await d.report(failed("it crashed", 2));
  assert.equal(await stateOf(), Rollout_State.RUNNING, "1 of 3 since then, 2 of 4 in all");
  await client.pauseRollout(NEW);
  await e.report(failed("it crashed", 3));
  assert.equal(await stateOf(), Rollout_State.PAUSED, "nobody gets it anyway");
});

Deno.test("a rollout leaves out machines that are pinned or have newer versions", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { machines: [a, b], client } = await fleet(cloud, 2, clock);
  const pinned = await testMachine(cloud, "pinned", "2.0.0");
  const ahead = await testMachine(cloud, "ahead", "stable");
  const onDev = await testMachine(cloud, "dev", "dev");
  await testMachine(cloud, "never told anything", "stable");
  assert.ok(a && b);
  await pinned.report(failed("its own fault", 1));
  await ahead.report({ installed: "3.0.0", running: "3.0.0" });
  await onDev.report({ installed: "1.0.0", running: "1.0.0" });
  const [rollout] = (await client.listRollouts({})).rollouts;
  assert.deepEqual([rollout?.state, rollout?.progress?.pending, rollout?.progress?.rolledBack], [
    Rollout_State.RUNNING,
    3,
    0,
  ]);
  const [newest] = (await client.listReleases({})).releases;
  assert.equal(newest?.installedOn, 0);
  await client.setRollout({ ...NEW, settings: { tags: ["canary"] } });
  assert.equal((await a.target("1.0.0")).version, "2.0.0");
  assert.equal((await b.target("1.0.0")).version, "1.0.0");
  assert.equal((await pinned.target("1.0.0")).version, "2.0.0");
});

Deno.test("an update that was called off counts as not begun", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { machines: [a], client } = await fleet(cloud, 1, clock);
  assert.ok(a);
  await a.report({ installed: "1.0.0", target: "2.0.0", state: State.DOWNLOADING });
  await client.pauseRollout(NEW);
  await a.report({ installed: "1.0.0", target: "1.0.0", state: State.IDLE });
  const [rollout] = (await client.listRollouts({})).rollouts;
  assert.deepEqual([rollout?.progress?.pending, rollout?.progress?.updating], [1, 0]);
});

Deno.test("AgentStatuses.load() finds what the last run wrote", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { made } = await testMachine(cloud, "one");
  const { queries } = cloud.folder.database;
  const first = new AgentStatuses(queries, clock, memoryLogger());
  const server = { installed: "1.0.0", bad: [{ version: "2.0.0", reason: "it crashed" }] };
  const status = create(AgentStatusSchema, { platform: "linux/amd64", server });
  first.report(made.part_id, status);
  first.report("a part that was deleted meanwhile", status);
  await first.write();
  await first.write();

  const second = new AgentStatuses(queries, clock, memoryLogger());
  await second.load();
  assert.deepEqual(second.of(made.part_id), {
    status,
    reportedAt: clock.now(),
    isReport: true,
  });
  assert.deepEqual([...second.partIds()], [made.part_id]);
  assert.equal(second.installed(made.part_id, "machine-server"), "1.0.0");
  assert.equal(second.installed(made.part_id, "machine-agent"), "");
});

Deno.test("AgentStatuses.learned() gives way to a report for five minutes", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const statuses = new AgentStatuses(cloud.folder.database.queries, clock, memoryLogger());
  const told = {
    platform: "linux/arm64",
    agent: { installed: "1.0.0", running: "1.0.0" },
    server: { installed: "2.0.0", running: "" },
  };
  assert.equal(statuses.learned("p", told)?.server?.installed, "2.0.0");
  statuses.report("p", create(AgentStatusSchema, { server: { installed: "3.0.0" } }));
  assert.equal(statuses.learned("p", told), undefined);
  assert.equal(statuses.installed("p", "machine-server"), "3.0.0");
  await clock.advance(5 * 60_000);
  assert.equal(statuses.learned("p", told)?.server?.installed, "2.0.0");
  assert.equal(statuses.of("p")?.isReport, false);
});
