import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import {
  AgentStatusSchema,
  ProgramStatus_State as State,
  ProgramStatusSchema,
  TargetSchema,
} from "../../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { fill } from "../../../texts/text.ts";
import { machineNotes, type Note, programView, type Said } from "./software.ts";

const NOW = Date.parse("2026-01-02T03:00:00Z");
const at = (text: string) => timestampFromDate(new Date(`2026-01-02T${text}Z`));
const english = (said: Said | undefined) => said && fill(said[0][0], said[1] ?? {}, "en");
const texts = (notes: readonly Note[]) => notes.map(({ said }) => english(said));

Deno.test("programView() says what is there, what ought to be and why it is not", () => {
  const none = programView(undefined, undefined, NOW);
  assert.deepEqual(
    [none.installed, none.running, none.wanted, none.step].map(english),
    ["not known", "not known", "nothing", undefined],
  );
  const status = create(ProgramStatusSchema, {
    ...{ installed: "1.0.0", running: "1.0.0", state: State.IDLE },
  });
  const target = create(TargetSchema, { version: "1.0.0", asked: "stable" });
  const idle = programView(status, target, NOW);
  assert.deepEqual(
    [idle.installed, idle.running, idle.wanted, idle.step].map(english),
    ["1.0.0", "1.0.0", "1.0.0 (stable)", "up to date"],
  );
  const view = programView(
    create(ProgramStatusSchema, { installed: "1.0.0" }),
    create(TargetSchema, { asked: "9.9.9", problem: "there is no release 9.9.9" }),
    NOW,
  );
  assert.deepEqual([view.wanted, view.running].map(english), ["9.9.9: no release", "does not run"]);
  assert.deepEqual(texts(view.notes), ["There is no release 9.9.9."]);
});

Deno.test("programView() tells how far an update is", () => {
  const target = create(TargetSchema, { version: "2.0.0" });
  const step = (status: Parameters<typeof create<typeof ProgramStatusSchema>>[1]) =>
    english(programView(create(ProgramStatusSchema, status), target, NOW).step);
  const downloading = { state: State.DOWNLOADING, bytesDownloaded: 1_500_000n };
  assert.equal(step({ ...downloading, totalBytes: 60_000_000n }), "downloading 1.50 MB of 60.0 MB");
  assert.equal(step(downloading), "downloading 1.50 MB");
  assert.equal(step({ state: State.TRIAL }), "on trial");
  assert.equal(step({ installed: "1.0.0" }), "not known");
});

Deno.test("programView() tells waits, trials, rollbacks and versions that are blocked", () => {
  const status = create(ProgramStatusSchema, {
    state: State.TRIAL,
    error: "the disk is full",
    waitingFor: "the maintenance window",
    waitingSince: at("02:00:00"),
    trialUntil: at("03:00:42"),
    lastRollback: { from: "2.0.0", to: "1.0.0", reason: "it crashed", at: at("02:58:00") },
    bad: [{ version: "2.0.0", reason: "it crashed", at: at("02:58:00") }],
  });
  const target = create(TargetSchema, { heldBack: "the rollout of 3.0.0 is paused" });
  assert.deepEqual(texts(programView(status, target, NOW).notes), [
    "The rollout of 3.0.0 is paused.",
    "The disk is full.",
    "Waits for the maintenance window, for 1 h.",
    "Is trusted in 42 s if all goes well.",
    "Rolled back from 2.0.0 to 1.0.0 2 min ago: it crashed",
    "2.0.0 is blocked, for 2 min: it crashed",
  ]);
});

Deno.test("machineNotes() tells what the machine waits for and what its server does", () => {
  assert.deepEqual(machineNotes(undefined, NOW), []);
  const running = create(AgentStatusSchema, { serverProcess: { state: "running" } });
  assert.deepEqual(machineNotes(running, NOW), []);
  const status = create(AgentStatusSchema, {
    waitingFor: "its server to stop",
    waitingSince: at("02:59:30"),
    serverProcess: {
      ...{ state: "backing off", since: at("02:59:00"), failures: 3, lastExit: "signal 9" },
    },
    settingsProblems: ["agent.advanced_settings.debug: no"],
  });
  assert.deepEqual(texts(machineNotes(status, NOW)), [
    "Waits for its server to stop, for 30 s.",
    "The server is backing off, for 1 min.",
    "3 failed starts",
    "Last exit: signal 9.",
    "Not used of the agent’s settings: agent.advanced_settings.debug: no",
  ]);
});
