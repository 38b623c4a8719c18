import type { TrainingState } from "../../storage/database/training_schema.ts";

/**
 * What happens to a job:
 * - `start`: its run begins; `requeue`: its run was cut, it waits again;
 * - `complete`, `fail`: its run ended on its own;
 * - `cancel`: somebody does not want it any more; `canceled`: nothing of it runs any more.
 */
export type JobEvent = "start" | "requeue" | "complete" | "fail" | "cancel" | "canceled";

export const JOB_STATES: readonly TrainingState[] = [
  "pending",
  "in_progress",
  "completed",
  "failed",
  "canceling",
  "canceled",
];

/** Every transition there is. What is not named does not happen. */
const TRANSITIONS: Readonly<Record<JobEvent, Partial<Record<TrainingState, TrainingState>>>> = {
  start: { pending: "in_progress" },
  requeue: { in_progress: "pending" },
  complete: { in_progress: "completed" },
  fail: { in_progress: "failed" },
  cancel: { pending: "canceling", in_progress: "canceling" },
  canceled: { canceling: "canceled" },
};

/** States in which a job is waiting, running or about to stop. */
export const UNFINISHED_STATES: readonly TrainingState[] = ["pending", "in_progress", "canceling"];
/** States that a job never leaves. */
export const ENDED_STATES: readonly TrainingState[] = ["completed", "failed", "canceled"];

/** The state that an event leads to, and the states it can happen in. */
export function transition(
  event: JobEvent,
): { readonly from: readonly TrainingState[]; readonly to: TrainingState } {
  const targets = Object.entries(TRANSITIONS[event]) as [TrainingState, TrainingState][];
  const [first] = targets;
  if (!first) throw new Error(`no state has the event ${event}`);
  return { from: targets.map(([from]) => from), to: first[1] };
}

export function isEnded(state: TrainingState): boolean {
  return ENDED_STATES.includes(state);
}
