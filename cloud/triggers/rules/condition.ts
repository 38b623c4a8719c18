/** Whether a reading fulfils the condition of a trigger. Pure, and never throws for a reading. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { RE2JS } from "re2js";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { conditionLeaves } from "../../../shared/config/checks/trigger_values.ts";
import type { TriggerEval } from "../../../shared/config/triggers.ts";

type Operator = TriggerEval["operator"];

/** One field and what it is compared with. */
export interface Comparison {
  readonly operator: Operator;
  /** Dotted, relative to the reading; undefined: the reading's only value. */
  readonly path: string | undefined;
  readonly expected: string | number | boolean;
  readonly pattern: RE2JS | undefined;
}

/** All must hold; none at all always hold. */
export type Condition = readonly Comparison[];

/** `incomparable` does not hold either; `problem` says why nothing could be compared. */
export type Outcome =
  | { readonly outcome: "holds" | "does not hold" }
  | { readonly outcome: "incomparable"; readonly problem: string };

/** One comparison with what was found, for people. */
export type Explanation = Outcome & {
  readonly operator: Operator;
  readonly path: string;
  readonly expected: string | number | boolean;
  /** Left out when there is no such field. */
  readonly found?: JsonValue;
};

/**
 * What the regular expressions of one upload may still cost: RE2 takes a pattern's instructions
 * times a text's length, and nobody's pattern shall hold up the data of others.
 */
export interface RegexBudget {
  steps: number;
}

/** About 40 ms on a slow processor (20 ns a step at worst, measured). */
export const REGEX_STEPS_PER_UPLOAD = 2_000_000;
const LONGEST_SHOWN = 100;

const HOLDS: Outcome = { outcome: "holds" };
const DOES_NOT_HOLD: Outcome = { outcome: "does not hold" };

/**
 * Makes the comparisons of a trigger ready for readings.
 *
 * @throws when a value cannot be compared with anything; what passed the checks of a save does not.
 */
export function compileCondition(evals: readonly TriggerEval[]): Condition {
  return evals.flatMap(({ operator, value }) =>
    conditionLeaves(value).map(({ path, value }) => {
      if (typeof value !== "number" && typeof value !== "string" && typeof value !== "boolean") {
        throw new TypeError(`${shown(value)} cannot be compared with anything`);
      }
      return {
        operator,
        path: path.length === 0 ? undefined : path.join("."),
        expected: value,
        pattern: operator === "regex" ? RE2JS.compile(String(value)) : undefined,
      };
    })
  );
}

/** Compares until something does not hold. */
export function evaluate(condition: Condition, reading: JsonObject, budget: RegexBudget): Outcome {
  for (const comparison of condition) {
    const found = find(comparison.path, reading);
    const outcome = "problem" in found ? incomparable(found.problem) : compare(
      comparison,
      found.value,
      budget,
    );
    if (outcome.outcome !== "holds") return outcome;
  }
  return HOLDS;
}

/** Compares everything and says what was found. */
export function explain(condition: Condition, reading: JsonObject): Explanation[] {
  return condition.map((comparison) => {
    const { operator, path = "", expected } = comparison;
    const found = find(comparison.path, reading);
    if ("problem" in found) return { operator, path, expected, ...incomparable(found.problem) };
    const budget = { steps: REGEX_STEPS_PER_UPLOAD };
    return {
      operator,
      path,
      expected,
      found: bounded(found.value),
      ...compare(comparison, found.value, budget),
    };
  });
}

function compare(comparison: Comparison, found: JsonValue, budget: RegexBudget): Outcome {
  const { operator, expected, pattern } = comparison;
  if (found === null || typeof found === "object") {
    return incomparable(`${name(comparison)} is ${kindOf(found)}, which cannot be compared`);
  }
  if (typeof found === "number" && Number.isNaN(found)) {
    return incomparable(`${name(comparison)} is not a number (NaN)`);
  }
  if (pattern) return matches(pattern, comparison, String(found), budget);
  if (typeof found !== typeof expected) {
    return incomparable(
      `${name(comparison)} is ${kindOf(found)}, the condition has ${kindOf(expected)}`,
    );
  }
  switch (operator) {
    case "eq":
      return toOutcome(found === expected);
    case "neq":
      return toOutcome(found !== expected);
  }
  if (typeof found === "boolean") {
    return incomparable(`${operator} cannot compare with true or false`);
  }
  switch (operator) {
    case "lt":
      return toOutcome(found < expected);
    case "gt":
      return toOutcome(found > expected);
    case "lte":
      return toOutcome(found <= expected);
    case "gte":
      return toOutcome(found >= expected);
  }
  return incomparable(`${operator} is no operator`);
}

function matches(
  pattern: RE2JS,
  comparison: Comparison,
  text: string,
  budget: RegexBudget,
): Outcome {
  const steps = pattern.programSize() * (text.length + 1);
  if (steps > budget.steps) {
    const long = `${name(comparison)} has ${text.length} characters`;
    return incomparable(`${long}: too much for this pattern, together with what came with it`);
  }
  budget.steps -= steps;
  return toOutcome(pattern.matcher(text).find());
}

type Found = { readonly value: JsonValue } | { readonly problem: string };

/** Values of sensors stand under `readings`, which a path may name or leave out. */
function find(path: string | undefined, reading: JsonObject): Found {
  const inner = reading["readings"];
  if (path === undefined) return onlyValue(isJsonObject(inner) ? inner : reading);
  const relative = isJsonObject(inner) ? lookUp(inner, path) : undefined;
  const value = relative === undefined ? lookUp(reading, path) : relative;
  return value === undefined ? { problem: `the reading has no ${path}` } : { value };
}

/** The value at a dotted path; keys may have dots themselves. */
function lookUp(value: JsonValue, path: string): JsonValue | undefined {
  if (!isJsonObject(value) && !Array.isArray(value)) return undefined;
  const direct = own(value, path);
  if (direct !== undefined) return direct;
  for (let at = path.indexOf("."); at >= 0; at = path.indexOf(".", at + 1)) {
    const outer = own(value, path.slice(0, at));
    const found = outer === undefined ? undefined : lookUp(outer, path.slice(at + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

function own(value: JsonObject | JsonValue[], key: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(key) ? value[Number(key)] : undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function onlyValue(value: JsonObject): Found {
  let left: JsonValue = value;
  while (isJsonObject(left)) {
    const keys: string[] = Object.keys(left);
    const [key] = keys;
    if (key === undefined) return { problem: "the reading is empty" };
    if (keys.length > 1) {
      return { problem: "the reading has several values, and the condition names none of them" };
    }
    left = left[key] ?? null;
  }
  return { value: left };
}

function toOutcome(holds: boolean): Outcome {
  return holds ? HOLDS : DOES_NOT_HOLD;
}

function incomparable(problem: string) {
  return { outcome: "incomparable", problem } as const;
}

function name({ path }: Comparison): string {
  return path ?? "the reading's value";
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "boolean") return "true or false";
  return typeof value === "number" ? "a number" : "a text";
}

/** What is kept of a value that may be large. */
function bounded(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.slice(0, LONGEST_SHOWN);
  return typeof value === "object" && value !== null ? shown(value) : value;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
