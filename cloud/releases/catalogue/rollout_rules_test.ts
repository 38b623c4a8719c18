import assert from "node:assert/strict";
import {
  isNews,
  isSelected,
  type Outcome,
  outcomeOf,
  type ToldProgram,
  whyStop,
} from "./rollout_rules.ts";

const partIds = Array.from({ length: 5_000 }, (_, at) => `part ${at}`);
const chosen = (percent: number, release = "release") =>
  new Set(
    partIds.filter((id) => isSelected({ percent, tags: [] }, release, { id, tags: [] })),
  );

Deno.test("isSelected() takes about the share that is asked for, 0 and 100 exactly", () => {
  assert.equal(chosen(0).size, 0);
  assert.equal(chosen(100).size, partIds.length);
  for (const percent of [1, 5, 33.33, 50]) {
    const share = chosen(percent).size / partIds.length * 100;
    assert.ok(Math.abs(share - percent) < 2.5, `${percent} % gave ${share} %`);
  }
});

Deno.test("isSelected() only adds machines when the share grows, and others for each release", () => {
  let before = new Set<string>();
  for (const percent of [1, 5, 25, 60, 100]) {
    const now = chosen(percent);
    assert.deepEqual([...before].filter((id) => !now.has(id)), []);
    before = now;
  }
  const one = chosen(10, "one");
  const both = [...chosen(10, "other")].filter((id) => one.has(id));
  assert.ok(both.length < one.size / 2, "the same machines would always be the first");
  assert.deepEqual(chosen(10, "one"), one);
});

Deno.test("isSelected() takes every machine with one of the tags", () => {
  const rollout = { percent: 0, tags: ["canary", "lab"] };
  assert.equal(isSelected(rollout, "r", { id: "p", tags: ["shop", "lab"] }), true);
  assert.equal(isSelected(rollout, "r", { id: "p", tags: ["shop"] }), false);
});

const bad = { version: "2.0.0", reason: "it crashed", atMs: 7 };

const OUTCOMES: [what: string, told: Partial<ToldProgram>, outcome: string | undefined][] = [
  ["nothing heard", {}, undefined],
  ["it is the target only", { target: "2.0.0", step: "idle" }, undefined],
  ["its download", { target: "2.0.0", step: "downloading" }, "updating"],
  ["another one's download", { target: "3.0.0", step: "downloading" }, undefined],
  ["it waits for the window", { target: "2.0.0", step: "waiting" }, "updating"],
  ["it is being installed", { target: "2.0.0", step: "installing" }, "updating"],
  [
    "its trial",
    { target: "2.0.0", installed: "2.0.0", running: "2.0.0", step: "trial" },
    "updating",
  ],
  ["its trial, with another target by now", { installed: "2.0.0", step: "trial" }, "updating"],
  ["it runs", { installed: "2.0.0", running: "2.0.0", step: "idle" }, "done"],
  ["it runs while the next is fetched", {
    installed: "2.0.0",
    running: "2.0.0",
    target: "3.0.0",
    step: "downloading",
  }, "done"],
  ["it runs, told by an agent that tells no steps", {
    installed: "2.0.0",
    running: "2.0.0",
  }, "done"],
  ["it is installed and does not run", { installed: "2.0.0", running: "1.0.0" }, undefined],
  ["it is being rolled back", { target: "2.0.0", step: "rolling back" }, "updating"],
  ["it is bad", { installed: "1.0.0", step: "refused", bad: [bad] }, "rolled back"],
  ["it was rolled back and forgotten", { installed: "1.0.0", lastRollback: bad }, "rolled back"],
  ["it is tried again", { target: "2.0.0", step: "trial", lastRollback: bad }, "updating"],
  ["it runs at the second try", {
    installed: "2.0.0",
    running: "2.0.0",
    step: "idle",
    lastRollback: bad,
  }, "done"],
  ["another one is bad", { bad: [{ ...bad, version: "1.9.0" }] }, undefined],
];

for (const [what, told, outcome] of OUTCOMES) {
  Deno.test(`outcomeOf() is ${outcome} when given: ${what}`, () => {
    const found = outcomeOf("2.0.0", {
      installed: "1.0.0",
      running: "1.0.0",
      target: "",
      step: "unknown",
      bad: [],
      lastRollback: undefined,
      ...told,
    });
    assert.equal(found?.outcome, outcome);
    if (outcome === "rolled back") {
      assert.deepEqual([found?.reason, found?.mark], ["it crashed", "7"]);
    }
  });
}

Deno.test("isNews() tells a second rollback from the first one told again", () => {
  const rolledBack = (mark: string): Outcome => ({ outcome: "rolled back", reason: "x", mark });
  assert.equal(isNews(undefined, rolledBack("1")), true);
  assert.equal(isNews(rolledBack("1"), rolledBack("1")), false);
  assert.equal(isNews(rolledBack("1"), rolledBack("2")), true);
  assert.equal(isNews(rolledBack("1"), { outcome: "updating", reason: "", mark: "" }), true);
});

const STOPS: [
  stopPercent: number,
  minimum: number,
  done: number,
  rolledBack: number,
  stop: boolean,
][] = [
  [10, 1, 0, 0, false],
  [10, 1, 0, 1, true],
  [10, 1, 9, 1, true],
  [10, 1, 10, 1, false],
  [10, 1, 91, 9, false],
  [10, 1, 90, 10, true],
  [10, 5, 0, 4, false],
  [10, 5, 4, 1, true],
  [100, 1, 1, 9, false],
  [100, 1, 0, 10, true],
  [0.5, 1, 150, 1, true],
  [0.5, 1, 250, 1, false],
  [0, 1, 0, 50, false],
];

for (const [stopPercent, stopMinimum, done, rolledBack, stop] of STOPS) {
  const limits = `${stopPercent} % of at least ${stopMinimum}`;
  Deno.test(
    `whyStop() ${stop ? "stops" : "goes on"} when ${rolledBack} of ${
      done + rolledBack
    } rolled back and the limit is ${limits}`,
    () => {
      const reason = whyStop({ stopPercent, stopMinimum }, { done, rolledBack });
      assert.equal(reason !== undefined, stop, reason ?? "no reason");
    },
  );
}

Deno.test("whyStop() says how many rolled back", () => {
  assert.equal(
    whyStop({ stopPercent: 10, stopMinimum: 1 }, { done: 3, rolledBack: 2 }),
    "2 of 5 machines that tried it rolled back, and 10 % stop it",
  );
});
