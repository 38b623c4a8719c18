import assert from "node:assert/strict";
import type { InstalledVersion } from "../../state/agent_state.ts";
import {
  type Candidate,
  chosenVersion,
  fromText,
  newRecord,
  type ProgramRecord,
  toText,
  type Trial,
  type UpdateState,
} from "./record.ts";
import type { Target } from "./target.ts";
import { next, type UpdateEvent } from "./update_machine.ts";

const now = new Date("2026-01-02T03:04:05Z");
const since = new Date("2026-01-02T03:00:00Z");
const moment = { now, limits: { failedStarts: 3, interruptions: 10 } };

const release = (version: string): Target => ({
  version,
  url: `https://cloud/${version}`,
  sha256: version.replaceAll(/\D/g, "").padEnd(64, "0"),
});
const installedOf = ({ version, url, sha256 }: Target): InstalledVersion => ({
  version,
  url,
  path: `/cache/machine-server-${version}-${sha256.slice(0, 12)}`,
  sha256,
});
const A = release("1.0.0");
const B = release("1.1.0");
const C = release("1.2.0");
const candidate: Candidate = { target: B, installed: installedOf(B) };

const idle: ProgramRecord = {
  ...newRecord(installedOf(A), since),
  target: A,
};
const at = (state: UpdateState, changes: Partial<ProgramRecord> = {}): ProgramRecord => ({
  ...idle,
  target: B,
  ...changes,
  state,
});
const trial: Trial = {
  kind: "trial",
  candidate,
  cloudBefore: true,
  failures: 0,
  healthyMs: 0,
  interruptions: 0,
};
const waiting: UpdateState = {
  kind: "waiting",
  candidate,
  why: "closed",
  since: since.toISOString(),
};
const swapping: UpdateState = { kind: "swapping", candidate, cloudBefore: true };
const rollingBack: UpdateState = { kind: "rolling-back", candidate, reason: "broken" };
const committing: UpdateState = { kind: "committing", candidate };

const after = (record: ProgramRecord, ...events: UpdateEvent[]) =>
  events.reduce((before, event) => next(before, event, moment), record);

/** Every transition between states. */
const rows: [ProgramRecord, UpdateEvent, UpdateState["kind"]][] = [
  [idle, { type: "target", target: B }, "downloading"],
  [idle, { type: "target", target: undefined }, "idle"],
  [idle, { type: "target", target: { ...B, problem: "unknown version" } }, "held"],
  [newRecord(undefined, now), { type: "target", target: undefined }, "held"],

  [at({ kind: "held", problem: "x", isBad: false }), { type: "done" }, "downloading"],
  [at({ kind: "held", problem: "x", isBad: false }), { type: "target", target: A }, "idle"],

  [
    at({ kind: "downloading", target: B }),
    { type: "fetched", installed: installedOf(B) },
    "verified",
  ],
  [at({ kind: "downloading", target: B }), { type: "fetched", installed: installedOf(A) }, "idle"],
  [at({ kind: "downloading", target: B }), { type: "refused", reason: "hash" }, "held"],
  [at({ kind: "downloading", target: B }), { type: "target", target: C }, "downloading"],
  [at({ kind: "downloading", target: B }), { type: "target", target: A }, "idle"],
  [at({ kind: "downloading", target: B }), { type: "target", target: undefined }, "idle"],

  [at({ kind: "verified", candidate }), { type: "go", cloudBefore: true }, "swapping"],
  [at({ kind: "verified", candidate }), { type: "not-yet", why: "closed", since }, "waiting"],
  [at(waiting), { type: "go", cloudBefore: true }, "swapping"],
  [at(waiting), { type: "not-yet", why: "other", since }, "waiting"],
  [at(waiting), { type: "target", target: A }, "idle"],
  [at(waiting), { type: "target", target: C }, "downloading"],

  [at(swapping), { type: "swapped" }, "trial"],
  [at(swapping), { type: "not-swapped", reason: "disk" }, "waiting"],
  [at(swapping), { type: "resumed" }, "waiting"],
  [at(swapping, { current: undefined }), { type: "resumed" }, "swapping"],
  [at(swapping), { type: "target", target: A }, "swapping"],
  [at(swapping), { type: "was-rolled-back", path: "/b", reason: "x" }, "rolled-back"],

  [at(trial), { type: "passed" }, "committing"],
  [at(trial), { type: "failed", reason: "x" }, "trial"],
  [at({ ...trial, failures: 2 }), { type: "failed", reason: "x" }, "rolling-back"],
  [at({ ...trial, failures: 2 }, { current: undefined }), { type: "failed", reason: "x" }, "trial"],
  [at(trial), { type: "unhealthy", reason: "x" }, "rolling-back"],
  [at(trial, { current: undefined }), { type: "unhealthy", reason: "x" }, "trial"],
  [at(trial), { type: "resumed" }, "trial"],
  [at({ ...trial, interruptions: 9 }), { type: "resumed" }, "rolling-back"],
  [at(trial), { type: "target", target: A }, "trial"],
  [at(trial, { current: undefined }), { type: "target", target: C }, "trial"],
  [
    at({ ...trial, failures: 1 }, { current: undefined }),
    { type: "target", target: C },
    "downloading",
  ],
  [at(trial), { type: "was-rolled-back", path: "/b", reason: "x" }, "rolled-back"],

  [at(committing), { type: "done" }, "committed"],
  [at(committing), { type: "was-rolled-back", path: "/b", reason: "x" }, "rolled-back"],
  [at({ kind: "committed" }, { current: installedOf(B) }), { type: "done" }, "idle"],
  [at({ kind: "committed" }, { current: installedOf(B), target: C }), {
    type: "done",
  }, "downloading"],

  [at({ kind: "verified", candidate }), { type: "refused", reason: "x" }, "held"],
  [at(waiting), { type: "refused", reason: "x" }, "held"],
  [at(rollingBack), { type: "done" }, "rolled-back"],
  [at(rollingBack), { type: "was-rolled-back", path: "/b", reason: "x" }, "rolled-back"],
  [at({ kind: "rolled-back", reason: "x" }, { target: A }), { type: "done" }, "idle"],
  [at({ kind: "rolled-back", reason: "x" }, { target: C }), { type: "done" }, "downloading"],
];

for (const [record, event, kind] of rows) {
  Deno.test(`next() ${record.state.kind} + ${JSON.stringify(event).slice(0, 60)} -> ${kind}`, () => {
    assert.equal(next(record, event, moment).state.kind, kind);
  });
}

Deno.test("next() leaves every other event without effect", () => {
  const events: UpdateEvent[] = [
    { type: "swapped" },
    { type: "passed" },
    { type: "done" },
    { type: "go", cloudBefore: false },
    { type: "failed", reason: "x" },
    { type: "refused", reason: "x" },
  ];
  const known = new Set(rows.map(([{ state }, { type }]) => `${state.kind} ${type}`));
  const states = new Map(rows.map(([record]) => [record.state.kind, record]));
  let checked = 0;
  for (const record of states.values()) {
    for (const event of events) {
      if (known.has(`${record.state.kind} ${event.type}`)) continue;
      assert.equal(next(record, event, moment), record, `${record.state.kind} ${event.type}`);
      checked++;
    }
  }
  assert.equal(states.size, 11, "each state has a row");
  assert.ok(checked > 30);
});

Deno.test("next() keeps the version before at a commit, and says when", () => {
  const done = after(at(trial), { type: "passed" });
  assert.equal(done.current?.version, "1.1.0");
  assert.equal(done.previous?.version, "1.0.0");
  assert.equal(done.installedAt, now.toISOString());
});

Deno.test("next() remembers a bad version until there is another target or it is forgotten", () => {
  const back = after(
    at({ ...trial, failures: 2 }),
    { type: "failed", reason: "it exited with code 1" },
    { type: "done" },
    { type: "done" },
  );
  assert.equal(back.current?.version, "1.0.0");
  assert.deepEqual(back.state, {
    kind: "held",
    problem: "1.1.0 was tried and is blocked: it exited with code 1",
    isBad: true,
  });
  assert.deepEqual(back.lastRollback, {
    from: "1.1.0",
    to: "1.0.0",
    reason: "it exited with code 1",
    at: now.toISOString(),
  });
  assert.equal(after(back, { type: "target", target: C }).state.kind, "downloading");
  assert.equal(after(back, { type: "target", target: A }).state.kind, "idle");
  const again = after(
    back,
    { type: "target", target: C },
    { type: "target", target: B },
  );
  assert.equal(again.state.kind, "held", "still bad after another one");
  assert.equal(after(back, { type: "forget-bad", version: "1.0.0" }).state.kind, "held");
  assert.equal(after(back, { type: "forget-bad", version: "1.1.0" }).state.kind, "downloading");
  assert.equal(after(back, { type: "forget-bad", version: undefined }).state.kind, "downloading");
});

Deno.test("next() knows a bad program by its content where the address names no version", () => {
  const url: Target = { version: "customURL", url: "http://x/server", sha256: "" };
  const first: InstalledVersion = { ...url, path: "/cache/one", sha256: "11" };
  const bad = after(
    at({ kind: "downloading", target: url }, { target: url }),
    { type: "fetched", installed: first },
    { type: "go", cloudBefore: false },
    { type: "swapped" },
    { type: "unhealthy", reason: "x" },
    { type: "done" },
    { type: "done" },
  );
  assert.equal(bad.state.kind, "downloading", "the address may have something else by now");
  const same = after(bad, { type: "fetched", installed: first });
  assert(same.state.kind === "held" && same.state.isBad);
  const other = after(same, { type: "done" }, {
    type: "fetched",
    installed: { ...first, path: "/cache/two", sha256: "22" },
  });
  assert.equal(other.state.kind, "verified");
});

Deno.test("next() goes down to an older version as it goes up", () => {
  const newer = { ...idle, current: installedOf(C), target: C };
  assert.equal(after(newer, { type: "target", target: A }).state.kind, "downloading");
});

Deno.test("next() counts failures in a row, and no reboots", () => {
  let record = at(trial);
  for (let reboot = 0; reboot < 9; reboot++) record = after(record, { type: "resumed" });
  assert.equal(record.state.kind, "trial");
  record = after(record, { type: "progress", healthyMs: 15_000 });
  for (let reboot = 0; reboot < 9; reboot++) record = after(record, { type: "resumed" });
  assert(record.state.kind === "trial", "it got further, so reboots do not add up");
  assert.deepEqual([record.state.failures, record.state.healthyMs], [0, 15_000]);
  record = after(record, { type: "failed", reason: "x" });
  assert(record.state.kind === "trial");
  assert.deepEqual([record.state.failures, record.state.healthyMs], [1, 0]);
});

Deno.test("next() lets a first version that fails run on until there is a better one", () => {
  const failing = at({ ...trial, failures: 1 }, { current: undefined });
  const next = after(failing, { type: "target", target: C });
  assert.equal(chosenVersion(next)?.version, "1.1.0");
  const unhealthy = after(at(trial, { current: undefined }), { type: "unhealthy", reason: "x" });
  assert(unhealthy.state.kind === "trial" && unhealthy.state.failures === 1);
});

Deno.test("next() adopts what was installed by hand", () => {
  const byHand: InstalledVersion = { version: "9.9.9", url: "", path: "/opt/x" };
  const record = after(idle, { type: "adopted", installed: byHand });
  assert.equal(record.previous?.version, "1.0.0");
  assert.equal(record.state.kind, "downloading", "the target is another one");
});

Deno.test("next() takes the previous version when the current one's file is gone", () => {
  const record = after({ ...idle, previous: installedOf(C) }, {
    type: "lost",
    other: installedOf(C),
  });
  assert.deepEqual([record.current?.version, record.state.kind], ["1.2.0", "downloading"]);
  const none = after(idle, { type: "lost", other: undefined });
  assert.deepEqual([none.current, none.state.kind], [undefined, "downloading"]);
});

Deno.test("chosenVersion() is the version on trial, else the current one, never the target", () => {
  const expected: Record<UpdateState["kind"], string | undefined> = {
    "idle": "1.0.0",
    "held": "1.0.0",
    "downloading": "1.0.0",
    "verified": "1.0.0",
    "waiting": "1.0.0",
    "swapping": undefined,
    "trial": "1.1.0",
    "committing": "1.0.0",
    "committed": "1.0.0",
    "rolling-back": undefined,
    "rolled-back": "1.0.0",
  };
  for (const [{ state }] of rows) {
    const record = at(state);
    assert.equal(chosenVersion(record)?.version, expected[state.kind], state.kind);
  }
});

Deno.test("fromText() reads what toText() wrote and nothing else", () => {
  for (const [record] of rows) {
    assert.deepEqual(JSON.parse(toText(fromText(toText(record))!)), JSON.parse(toText(record)));
  }
  for (const text of ["", "{}", "null", '{"state":{"kind":"flying"},"bad":[],"changedAt":"x"}']) {
    assert.equal(fromText(text), undefined, text);
  }
});
