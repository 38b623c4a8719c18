import { problemOf } from "../api/errors.ts";
import { say } from "../texts/say.svelte.ts";

/** Why a call failed, in one sentence: in the viewer's language where the cloud gave a reason. */
export function problemWords(error: unknown): { readonly text: string; readonly lang?: "en" } {
  const { reason, said, what } = problemOf(error);
  if (reason) return { text: say(...reason) };
  return said === "" ? { text: say(what) } : { text: said, lang: "en" };
}
