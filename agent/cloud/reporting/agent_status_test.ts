import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  AgentStatusSchema,
  ProgramStatus_State as State,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { ProgramSnapshot, SnapshotState } from "../../updates/updater/snapshot.ts";
import { agentStatus, type ProcessFacts, processState, type StatusFacts } from "./agent_status.ts";

const date = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, second));

const snapshot = (change: Partial<ProgramSnapshot> = {}): ProgramSnapshot => ({
  program: "machine-server",
  installed: "1.0.0",
  target: "1.1.0",
  previous: "0.9.0",
  state: "idle",
  bytesDownloaded: 0,
  totalBytes: 0,
  error: "",
  lastChanged: undefined,
  waitingFor: "",
  waitingSince: undefined,
  bad: [],
  lastRollback: undefined,
  trialUntil: undefined,
  ...change,
});

const process: ProcessFacts = {
  state: "running",
  since: date(1),
  failures: 2,
  lastExit: "exited with code 1",
  isHung: false,
  isDisabled: false,
};

const facts = (change: Partial<StatusFacts> = {}): StatusFacts => ({
  agent: snapshot({ program: "machine-agent" }),
  server: snapshot(),
  agentRunning: "0.5.0",
  serverRunning: "1.0.0",
  process,
  waitingRestart: undefined,
  platform: "linux/amd64",
  agentStarted: date(0),
  settingsProblems: ["x is wrong"],
  networks: {
    state: "provisioning",
    since: date(5),
    detail: "the hotspot is up",
    problems: ["eth9 is missing"],
    reboots: 2,
  },
  finishedCommands: ["c1"],
  ...change,
});

const statusOf = (change?: Partial<StatusFacts>) =>
  create(AgentStatusSchema, agentStatus(facts(change)));

Deno.test("agentStatus() tells everything about a program", () => {
  const { server, agent, serverProcess, settingsProblems, finishedCommands } = statusOf({
    server: snapshot({
      state: "trial",
      bytesDownloaded: 5,
      totalBytes: 9,
      error: "oops",
      lastChanged: date(3),
      bad: [{ version: "1.0.5", reason: "crashed", at: date(4) }],
      lastRollback: { from: "1.0.5", to: "1.0.0", reason: "crashed", at: date(5) },
      trialUntil: date(6),
    }),
  });
  assert.equal(agent?.running, "0.5.0");
  assert.deepEqual(
    [server?.installed, server?.running, server?.target, server?.previous, server?.state],
    ["1.0.0", "1.0.0", "1.1.0", "0.9.0", State.TRIAL],
  );
  assert.deepEqual([server?.bytesDownloaded, server?.totalBytes, server?.error], [5n, 9n, "oops"]);
  const dates = [server?.lastChanged, server?.bad[0]?.at, server?.lastRollback?.at];
  assert.deepEqual([...dates, server?.trialUntil].map((at) => at && timestampDate(at)), [
    date(3),
    date(4),
    date(5),
    date(6),
  ]);
  assert.equal(server?.bad[0]?.reason, "crashed");
  assert.equal(server?.lastRollback?.from, "1.0.5");
  assert.deepEqual(
    [serverProcess?.state, serverProcess?.failures, serverProcess?.lastExit],
    ["running", 2, "exited with code 1"],
  );
  assert.deepEqual(
    [settingsProblems, finishedCommands],
    [["x is wrong", "eth9 is missing"], ["c1"]],
  );
});

Deno.test("agentStatus() tells how the machine stands with its networks", () => {
  const { networks } = statusOf();
  assert.deepEqual(
    [networks?.state, networks?.detail, networks?.reboots],
    ["provisioning", "the hotspot is up", 2],
  );
  assert.deepEqual(networks?.since && timestampDate(networks.since), date(5));
});

Deno.test("agentStatus() leaves out times that are not known", () => {
  const { server, waitingFor, waitingSince } = statusOf();
  assert.deepEqual(
    [server?.lastChanged, server?.waitingSince, server?.lastRollback, server?.trialUntil],
    [undefined, undefined, undefined, undefined],
  );
  assert.deepEqual([waitingFor, waitingSince], ["", undefined]);
});

Deno.test("agentStatus() has a state of the cloud for each of the agent's", () => {
  const states: Record<SnapshotState, State> = {
    "idle": State.IDLE,
    "downloading": State.DOWNLOADING,
    "waiting": State.WAITING,
    "installing": State.INSTALLING,
    "trial": State.TRIAL,
    "rolling-back": State.ROLLING_BACK,
    "failed": State.FAILED,
    "refused": State.REFUSED,
  };
  for (const [state, expected] of Object.entries(states) as [SnapshotState, State][]) {
    assert.equal(statusOf({ server: snapshot({ state }) }).server?.state, expected);
  }
});

Deno.test("agentStatus() says in one sentence what is waited for longest, and since when", () => {
  const update = statusOf({
    server: snapshot({ waitingFor: "the sensor says no", waitingSince: date(7) }),
    waitingRestart: { reason: "env", why: "the sensor says no", since: date(9) },
  });
  assert.equal(
    update.waitingFor,
    "machine-server 1.1.0 waits to be installed: the sensor says no",
  );
  assert.deepEqual(update.waitingSince && timestampDate(update.waitingSince), date(7));
  const restart = statusOf({
    agent: snapshot({ program: "machine-agent", waitingFor: "x", waitingSince: date(9) }),
    waitingRestart: { reason: "machine_server_env has changed", why: "no answer", since: date(8) },
  });
  assert.equal(
    restart.waitingFor,
    "machine-server waits to be restarted (machine_server_env has changed): no answer",
  );
});

Deno.test("processState() tells a hung server from a running one, and disabled from stopped", () => {
  assert.equal(processState(process), "running");
  assert.equal(processState({ ...process, isHung: true }), "hung");
  assert.equal(processState({ ...process, state: "starting", isHung: true }), "starting");
  assert.equal(processState({ ...process, state: "stopped" }), "stopped");
  assert.equal(processState({ ...process, state: "stopped", isDisabled: true }), "disabled");
  assert.equal(processState({ ...process, state: "stopping", isDisabled: true }), "stopping");
  assert.equal(processState({ ...process, state: "backing-off" }), "backing off");
});
