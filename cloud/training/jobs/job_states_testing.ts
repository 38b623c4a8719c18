import type { TrainingState } from "../../storage/database/training_schema.ts";
import { type JobEvent, transition } from "./job_states.ts";

const ALL: Readonly<Record<JobEvent, true>> = {
  ...{ start: true, requeue: true, complete: true, fail: true, cancel: true, canceled: true },
};
/** Everything that can happen to a job. */
export const JOB_EVENTS = Object.keys(ALL) as JobEvent[];

/** The state after an event; undefined: the event does not happen in this state. */
export function nextState(state: TrainingState, event: JobEvent): TrainingState | undefined {
  const { from, to } = transition(event);
  return from.includes(state) ? to : undefined;
}
