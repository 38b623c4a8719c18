import assert from "node:assert/strict";
import type { TrainingState } from "../../storage/database/training_schema.ts";
import { ENDED_STATES, JOB_STATES, type JobEvent, UNFINISHED_STATES } from "./job_states.ts";
import { JOB_EVENTS, nextState } from "./job_states_testing.ts";

/** Written out once more, all of it: each row is a state, a dash an event that does not happen. */
const TABLE = `
              start        requeue  complete   fail    cancel     canceled
  pending     in_progress  -        -          -       canceling  -
  in_progress -            pending  completed  failed  canceling  -
  completed   -            -        -          -       -          -
  failed      -            -        -          -       -          -
  canceling   -            -        -          -       -          canceled
  canceled    -            -        -          -       -          -
`;

Deno.test("transition() leads where the table says, for every state and event", () => {
  const [events = [], ...rows] = TABLE.trim().split("\n").map((line) => line.trim().split(/\s+/));
  assert.deepEqual(events.toSorted(), JOB_EVENTS.toSorted());
  assert.deepEqual(rows.map(([state]) => state).toSorted(), JOB_STATES.toSorted());
  for (const [state, ...targets] of rows) {
    for (const [at, event] of events.entries()) {
      const expected = targets[at] === "-" ? undefined : targets[at];
      const found = nextState(state as TrainingState, event as JobEvent);
      assert.equal(found, expected, `${state} ${event}`);
    }
  }
});

Deno.test("ended states allow nothing, unfinished ones something, and all are either", () => {
  assert.deepEqual([...ENDED_STATES, ...UNFINISHED_STATES].toSorted(), JOB_STATES.toSorted());
  for (const state of ENDED_STATES) {
    assert.ok(JOB_EVENTS.every((event) => nextState(state, event) === undefined), state);
  }
  for (const state of UNFINISHED_STATES) {
    assert.ok(JOB_EVENTS.some((event) => nextState(state, event) !== undefined), state);
  }
});
