import { type Release, Rollout_State } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { foundProblem } from "../../api/found_problems.ts";
import { releases as words } from "../../texts/releases.ts";
import type { Text, Values } from "../../texts/text.ts";

/** Says a text in the viewer's language. */
export type Say = (text: Text, values?: Values) => string;

/** Whom a release goes to, in words. */
export function goesTo({ withdrawnAt, goesBack, rollout }: Release, say: Say): string {
  if (withdrawnAt) return say(goesBack ? words.withdrawnBack : words.withdrawnKept);
  if (!rollout) return say(words.everyone);
  const { percent, tags, state, reason } = rollout;
  const whom = [
    ...(percent > 0 || tags.length === 0 ? [say(words.share, { percent })] : []),
    ...tags.map((tag) => say(words.tag, { tag })),
  ].reduce((a, b) => say(words.and, { a, b }));
  if (state === Rollout_State.PAUSED) return say(words.paused, { whom });
  if (state !== Rollout_State.STOPPED) return whom;
  return say(words.stopped, { whom, reason: foundProblem(reason, say) ?? reason });
}

/** Whether a rollout stopped automatically, which somebody has to look at. */
export function isStopped({ withdrawnAt, rollout }: Release): boolean {
  return rollout?.state === Rollout_State.STOPPED && !withdrawnAt;
}
