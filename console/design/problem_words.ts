import { problemOf } from "../api/errors.ts";
import { foundProblem } from "../api/found_problems.ts";
import { say } from "../texts/say.svelte.ts";
import type { Text, Values } from "../texts/text.ts";

/** A text, and its language where that is not the viewer's. */
export interface ProblemWords {
  readonly text: string;
  readonly lang?: "en";
}

/** Why a call failed, in one sentence: in the viewer's language where the cloud gave a reason. */
export function problemWords(error: unknown): ProblemWords {
  const { reason, said, what } = problemOf(error);
  if (reason) return { text: reasonWords(...reason) };
  return said === "" ? { text: say(what) } : { text: said, lang: "en" };
}

/** A reason of the cloud, with what it found wrong. */
export function reasonWords(text: Text, values: Values): string {
  const { problem } = values;
  if (typeof problem !== "string") return say(text, values);
  return say(text, { ...values, problem: foundProblem(problem, say) ?? problem });
}

/** What the cloud found wrong in something that it keeps. */
export function foundWords(text: string): ProblemWords {
  const known = foundProblem(text, say);
  return known === undefined ? { text, lang: "en" } : { text: known };
}
