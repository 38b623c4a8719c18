import type { MachineLimits } from "./update_machine.ts";

export interface UpdateLimits extends MachineLimits {
  /** A version on trial has to be healthy for so long. */
  readonly trialMs: number;
  /** A version on trial that serves and is not healthy is marked bad after so long. */
  readonly unhealthyMs: number;
  /** How often a version on trial is looked at. */
  readonly lookEveryMs: number;
  /** How often it is queried whether the window is open, and whether a local file has changed. */
  readonly askEveryMs: number;
  /** What was refused is tried again after so long; grows to a day. */
  readonly refusedRetryMs: number;
  /** An address without a known hash is queried so often whether it gives something else. */
  readonly recheckMs: number;
  /** After a swap that the disk did not allow; grows to an hour. */
  readonly swapRetryMs: number;
  /** So long the server's update waits for the agent's that is on its way. */
  readonly agentFirstMs: number;
}

const DEFAULTS: UpdateLimits = {
  failedStarts: 3,
  interruptions: 10,
  trialMs: 60_000,
  unhealthyMs: 5 * 60_000,
  lookEveryMs: 500,
  askEveryMs: 5_000,
  refusedRetryMs: 10 * 60_000,
  recheckMs: 150_000,
  swapRetryMs: 60_000,
  agentFirstMs: 15 * 60_000,
};

const SHORTEST_TRIAL_S = 1;
const LONGEST_TRIAL_S = 3_600;

/**
 * The limits of this agent. MACHINE_AGENT_TRIAL_SECONDS, 1 to 3600, makes trials shorter or longer;
 * what cannot be read is as if it were not there.
 */
export function updateLimits(env: Readonly<Record<string, string>>): UpdateLimits {
  const seconds = Number(env["MACHINE_AGENT_TRIAL_SECONDS"] ?? "");
  if (!(seconds >= SHORTEST_TRIAL_S && seconds <= LONGEST_TRIAL_S)) return DEFAULTS;
  return { ...DEFAULTS, trialMs: seconds * 1000 };
}

/** Time for a start of the agent and for whatever a slow host does besides. */
const START_S = 540;

/** How long the start guard leaves an agent on trial alone: longer than the agent itself does. */
export function guardPatienceS({ trialMs, unhealthyMs }: UpdateLimits): number {
  return Math.ceil((trialMs + unhealthyMs) / 1000) + START_S;
}
