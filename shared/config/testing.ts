import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { formatProblem } from "./problem.ts";
import { validateForSave } from "./validate.ts";

/** A configuration and what shall be found wrong with it. */
export interface SaveCase {
  readonly what: string;
  readonly json: unknown;
  /** Paths of the problems; none when the configuration may be saved. */
  readonly paths: readonly string[];
}

/** A sensor entry that is right, but for what the test makes of it. */
export const sensor = (name: unknown, more: object = {}) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  ...more,
});

/** One test for each case: exactly these problems, each with a message and what was found. */
export function testSaving(cases: readonly SaveCase[]): void {
  for (const { what, json, paths } of cases) {
    const outcome = paths.length === 0 ? "accepts" : `reports ${paths.join(", ")}`;
    Deno.test(`validateForSave() ${outcome} when given: ${what}`, () => {
      const problems = validateForSave(json);
      deepStrictEqual(
        problems.map(({ path }) => path),
        paths,
        problems.map(formatProblem).join("\n"),
      );
      for (const problem of problems) {
        strictEqual(problem.message.length > 0 && problem.found.length > 0, true);
      }
    });
  }
}
