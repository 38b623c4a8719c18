/** Checks of the regular expressions in triggers, with the engine that runs them in the cloud. */
import { RE2JS } from "re2js";
import { toError } from "../../base/errors/to_error.ts";
import { type Path, problemAt, type Report } from "../problem.ts";
import type { TriggerConfig } from "../triggers.ts";
import { conditionLeaves } from "./trigger_values.ts";

/** Reports every regular expression of a trigger that RE2 does not compile. */
export function checkTriggerPatterns(trigger: TriggerConfig, path: Path, report: Report): void {
  for (const key of ["conditions", "condition"] as const) {
    trigger.event.conditional?.[key]?.evals?.forEach(({ operator, value }, at) => {
      if (operator !== "regex") return;
      for (const leaf of conditionLeaves(value)) {
        if (typeof leaf.value !== "string") continue;
        const problem = patternProblem(leaf.value);
        if (problem === undefined) continue;
        const place = [...path, "event", "conditional", key, "evals", at, "value", ...leaf.path];
        const message = `the regular expression does not compile: ${problem}`;
        report(problemAt(place, leaf.value, message, "a regular expression of RE2"));
      }
    });
  }
}

function patternProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    const text = toError(error).message;
    return text.replace(/^error parsing regexp: /, "");
  }
}
