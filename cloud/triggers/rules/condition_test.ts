import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import type { TriggerEval } from "../../../shared/config/triggers.ts";
import { compileCondition, evaluate, explain, REGEX_STEPS_PER_UPLOAD } from "./condition.ts";

type Result = "holds" | "does not hold" | RegExp;

function outcomeOf(evals: readonly TriggerEval[], reading: JsonObject) {
  return evaluate(compileCondition(evals), reading, { steps: REGEX_STEPS_PER_UPLOAD });
}

const readings = {
  cpu: 50,
  state: "running",
  on: true,
  empty: "",
  nothing: null,
  list: [1, { deep: 2 }],
  coordinate: { latitude: 47.5, name: "Zürich" },
  "dotted.key": 7,
  "half.way": { in: 8 },
  nan: NaN,
};

// The reading of a sensor: values stand under `readings`.
const TABLE: readonly [operator: TriggerEval["operator"], value: unknown, result: Result][] = [
  // Numbers.
  ["gt", { cpu: 49 }, "holds"],
  ["gt", { cpu: 50 }, "does not hold"],
  ["gte", { cpu: 50 }, "holds"],
  ["gte", { cpu: 50.001 }, "does not hold"],
  ["lt", { cpu: 51 }, "holds"],
  ["lt", { cpu: 50 }, "does not hold"],
  ["lte", { cpu: 50 }, "holds"],
  ["lte", { cpu: 49.9 }, "does not hold"],
  ["eq", { cpu: 50 }, "holds"],
  ["eq", { cpu: 51 }, "does not hold"],
  ["neq", { cpu: 51 }, "holds"],
  ["neq", { cpu: 50 }, "does not hold"],
  ["regex", { cpu: "^5\\d$" }, "holds"],
  ["regex", { cpu: "^6" }, "does not hold"],
  // Texts.
  ["eq", { state: "running" }, "holds"],
  ["eq", { state: "Running" }, "does not hold"],
  ["neq", { state: "idle" }, "holds"],
  ["lt", { state: "stopped" }, "holds"],
  ["gt", { state: "stopped" }, "does not hold"],
  ["regex", { state: "^run" }, "holds"],
  ["regex", { state: "unn" }, "holds"],
  ["regex", { state: "(?i)^RUNNING$" }, "holds"],
  ["regex", { state: "^idle|stopped$" }, "does not hold"],
  ["eq", { empty: "" }, "holds"],
  // True and false.
  ["eq", { on: true }, "holds"],
  ["eq", { on: false }, "does not hold"],
  ["neq", { on: false }, "holds"],
  ["regex", { on: "true" }, "holds"],
  // Paths.
  ["lt", { coordinate: { latitude: 50 } }, "holds"],
  ["lt", { coordinate: { latitude: 40 } }, "does not hold"],
  ["lt", { "coordinate.latitude": 50 }, "holds"],
  ["lt", { readings: { coordinate: { latitude: 50 } } }, "holds"],
  ["lt", { "readings.coordinate.latitude": 50 }, "holds"],
  ["eq", { coordinate: { name: "Zürich" } }, "holds"],
  ["eq", { "dotted.key": 7 }, "holds"],
  ["eq", { half: { way: { in: 8 } } }, "holds"],
  ["eq", { "list.0": 1 }, "holds"],
  ["eq", { list: { 1: { deep: 2 } } }, "holds"],
  ["gt", { cpu: 49, coordinate: { latitude: 47 } }, "holds"],
  ["gt", { cpu: 49, coordinate: { latitude: 48 } }, "does not hold"],
  // What cannot be compared does not hold, and says why.
  ["gt", { ram: 1 }, /^the reading has no ram$/],
  ["neq", { ram: 1 }, /^the reading has no ram$/],
  ["gt", { "coordinate.altitude": 1 }, /^the reading has no coordinate\.altitude$/],
  ["gt", { "list.length": 1 }, /^the reading has no list\.length$/],
  ["gt", { constructor: 1 }, /^the reading has no constructor$/],
  ["gt", { state: 5 }, /^state is a text, the condition has a number$/],
  ["eq", { cpu: "50" }, /^cpu is a number, the condition has a text$/],
  ["neq", { on: 1 }, /^on is true or false, the condition has a number$/],
  ["gt", { on: true }, /^gt cannot compare with true or false$/],
  ["eq", { nothing: 1 }, /^nothing is null, which cannot be compared$/],
  ["eq", { coordinate: 1 }, /^coordinate is an object, which cannot be compared$/],
  ["regex", { list: "1" }, /^list is a list, which cannot be compared$/],
  ["lt", { nan: 1 }, /^nan is not a number \(NaN\)$/],
  ["gt", 5, /^the reading has several values, and the condition names none of them$/],
];

for (const [operator, value, result] of TABLE) {
  const told = result instanceof RegExp ? `cannot compare: ${result.source}` : result;
  Deno.test(`evaluate() ${told} when ${operator} ${JSON.stringify(value)}`, () => {
    const outcome = outcomeOf([{ operator, value }], { readings });
    if (result instanceof RegExp) {
      assert.match(outcome.outcome === "incomparable" ? outcome.problem : "", result);
    } else {
      assert.equal(outcome.outcome, result);
    }
  });
}

Deno.test("evaluate() compares the only value when the condition is a plain value", () => {
  const table: readonly [value: unknown, reading: JsonObject, result: string][] = [
    [5, { readings: { cpu: 6 } }, "holds"],
    [5, { readings: { a: { b: 6 } } }, "holds"],
    [5, { is_on: 6 }, "holds"],
    [5, { readings: { cpu: 4 } }, "does not hold"],
    [5, { readings: {} }, "incomparable"],
    [5, {}, "incomparable"],
    [5, { readings: { a: 6, b: 7 } }, "incomparable"],
    [5, { readings: { a: [6] } }, "incomparable"],
    [5, { readings: { a: "6" } }, "incomparable"],
  ];
  for (const [value, reading, result] of table) {
    assert.equal(
      outcomeOf([{ operator: "gt", value }], reading).outcome,
      result,
      JSON.stringify(reading),
    );
  }
});

Deno.test("evaluate() reads values of methods that have no `readings`", () => {
  const motor = { is_on: true, power_pct: 0.5 };
  assert.equal(outcomeOf([{ operator: "eq", value: { is_on: true } }], motor).outcome, "holds");
});

Deno.test("evaluate() holds only when all evals hold, and always when there are none", () => {
  const high: TriggerEval = { operator: "gt", value: { cpu: 40 } };
  const low: TriggerEval = { operator: "lt", value: { cpu: 45 } };
  const idle: TriggerEval = { operator: "eq", value: { state: "idle" } };
  const reading = { readings };
  assert.equal(outcomeOf([], reading).outcome, "holds");
  assert.equal(outcomeOf([high], reading).outcome, "holds");
  assert.equal(outcomeOf([high, low], reading).outcome, "does not hold");
  assert.equal(outcomeOf([idle, high], reading).outcome, "does not hold");
});

Deno.test("evaluate() stops regular expressions that cost too much, whoever wrote them", () => {
  const text = "a".repeat(200_000);
  const reading = { readings: { text } };
  const condition = compileCondition([{ operator: "regex", value: { text: "(a{1,500})+$" } }]);
  const outcome = evaluate(condition, reading, { steps: REGEX_STEPS_PER_UPLOAD });
  assert.match(
    outcome.outcome === "incomparable" ? outcome.problem : "",
    /text has 200000 characters: too much for this pattern/,
  );

  const short = { readings: { text: "a".repeat(1_000) } };
  const budget = { steps: REGEX_STEPS_PER_UPLOAD };
  const outcomes = Array.from({ length: 5 }, () => evaluate(condition, short, budget).outcome);
  assert.equal(outcomes[0], "holds");
  assert.equal(outcomes.at(-1), "incomparable");
});

Deno.test("explain() says for each comparison what was found", () => {
  const condition = compileCondition([
    { operator: "gt", value: { cpu: 60, ram: 1 } },
    { operator: "regex", value: { text: "x" } },
  ]);
  const told = explain(condition, { readings: { cpu: 50, text: `x${"y".repeat(300)}` } });
  assert.deepEqual(told, [
    { operator: "gt", path: "cpu", expected: 60, found: 50, outcome: "does not hold" },
    {
      operator: "gt",
      path: "ram",
      expected: 1,
      outcome: "incomparable",
      problem: "the reading has no ram",
    },
    {
      operator: "regex",
      path: "text",
      expected: "x",
      found: `x${"y".repeat(99)}`,
      outcome: "holds",
    },
  ]);
});
