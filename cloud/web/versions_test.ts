import assert from "node:assert/strict";
// @ts-types="./versions.d.ts"
import { machineNotes, programView, releaseView } from "./versions.js";

const NOW = Date.parse("2026-01-02T03:00:00Z");
const texts = (notes: readonly { text: string }[]) => notes.map(({ text }) => text);

Deno.test("programView() says what is there, what ought to be and why it is not", () => {
  assert.deepEqual(programView(), {
    installed: "not known",
    running: "not known",
    wanted: "nothing",
    step: "",
    notes: [],
  });
  const status = { installed: "1.0.0", running: "1.0.0", state: "STATE_IDLE" };
  assert.deepEqual(programView(status, { version: "1.0.0", asked: "stable" }, NOW), {
    installed: "1.0.0",
    running: "1.0.0",
    wanted: "1.0.0 (stable)",
    step: "up to date",
    notes: [],
  });
  const asked = { version: "", asked: "9.9.9", problem: "there is no release 9.9.9" };
  const view = programView({ installed: "1.0.0" }, asked, NOW);
  assert.deepEqual([view.wanted, view.running], ["9.9.9: nothing", "does not run"]);
  assert.deepEqual(view.notes, [{ text: "There is no release 9.9.9.", kind: "problem" }]);
  assert.equal(programView({}, { version: "1.0.0", pinned: true, asked: "1.0.0" }).wanted, "1.0.0");
  assert.equal(programView({}, { version: "customURL", asked: "file:///x" }).wanted, "file:///x");
});

Deno.test("programView() tells how far an update is", () => {
  const step = (status: object) => programView(status, { version: "2.0.0" }, NOW).step;
  const downloading = { state: "STATE_DOWNLOADING", bytesDownloaded: "1500000" };
  assert.equal(step({ ...downloading, totalBytes: "60000000" }), "downloading 1.50 MB of 60.0 MB");
  assert.equal(step(downloading), "downloading 1.50 MB");
  assert.equal(step({ state: "STATE_TRIAL" }), "on trial");
  assert.equal(step({ state: "STATE_FROM_THE_FUTURE" }), "not known");
  assert.equal(step({ installed: "1.0.0" }), "not known", "its agent tells no steps");
});

Deno.test("programView() tells waits, trials, rollbacks and versions that are blocked", () => {
  const view = programView(
    {
      state: "STATE_TRIAL",
      error: "the disk is full",
      waitingFor: "the maintenance window",
      waitingSince: "2026-01-02T02:00:00Z",
      trialUntil: "2026-01-02T03:00:42Z",
      lastRollback: {
        from: "2.0.0",
        to: "1.0.0",
        reason: "it crashed",
        at: "2026-01-02T02:58:00Z",
      },
      bad: [{ version: "2.0.0", reason: "it crashed", at: "2026-01-02T02:58:00Z" }],
    },
    { heldBack: "the rollout of 3.0.0 is paused" },
    NOW,
  );
  assert.deepEqual(texts(view.notes), [
    "The rollout of 3.0.0 is paused.",
    "The disk is full.",
    "Waits for the maintenance window, for 1 h.",
    "Is trusted in 42 s if all goes well.",
    "Went back from 2.0.0 to 1.0.0 2 min ago: it crashed",
    "2.0.0 is kept out, for 2 min: it crashed",
  ]);
});

Deno.test("machineNotes() tells what the machine waits for and what its server does", () => {
  assert.deepEqual(machineNotes(undefined, NOW), []);
  assert.deepEqual(machineNotes({ serverProcess: { state: "running" } }, NOW), []);
  assert.deepEqual(
    texts(machineNotes({
      waitingFor: "its server to stop",
      waitingSince: "2026-01-02T02:59:30Z",
      serverProcess: {
        state: "backing off",
        since: "2026-01-02T02:59:00Z",
        failures: 3,
        lastExit: "signal 9",
      },
      settingsProblems: ["agent.advanced_settings.debug: no"],
    }, NOW)),
    [
      "Waits for its server to stop, for 30 s.",
      "The server is backing off, for 1 min: 3 failed starts, signal 9.",
      "Not used of the agent's settings: agent.advanced_settings.debug: no",
    ],
  );
});

Deno.test("releaseView() says who gets a release and how far that is", () => {
  const release = { binary: "machine-server", version: "1.0.0", channel: "CHANNEL_STABLE" };
  const goesTo = (fields: object) => releaseView({ ...release, ...fields }).goesTo;
  assert.equal(goesTo({}), "all on its channel");
  assert.equal(goesTo({ withdrawnAt: "x" }), "withdrawn; machines keep it");
  assert.equal(goesTo({ withdrawnAt: "x", goesBack: true }), "withdrawn; machines go back");
  assert.equal(goesTo({ rollout: { percent: 5, tags: ["a"] } }), "5 % of the machines and tag a");
  assert.equal(goesTo({ rollout: { tags: ["a", "b"] } }), "tag a and tag b");
  assert.equal(goesTo({ rollout: {} }), "0 % of the machines");
  assert.equal(
    goesTo({ rollout: { percent: 50, state: "STATE_PAUSED" } }),
    "paused at 50 % of the machines",
  );
  const stopped = { percent: 50, state: "STATE_STOPPED", reason: "2 of 5 rolled back" };
  assert.equal(goesTo({ rollout: stopped }), "stopped at 50 % of the machines: 2 of 5 rolled back");
  const view = releaseView(
    { ...release, rollout: stopped, files: [{ platform: "linux/amd64" }] },
    { done: 3, rolledBack: 2 },
  );
  assert.equal(view.isStopped, true);
  assert.deepEqual([view.channel, view.platforms], ["stable", "linux/amd64"]);
  assert.equal(view.progress, "3 done, 0 updating, 0 pending, 2 rolled back");
});
