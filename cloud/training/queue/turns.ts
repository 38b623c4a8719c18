/** Whose job runs next. Pure. */

/** How many jobs run at once. */
export interface QueueLimits {
  /** In the whole cloud; 0: none. */
  readonly total: number;
  readonly perOrganization: number;
}

/** The job of an organisation that waits longest. */
export interface FirstInLine {
  readonly orgId: string;
  /** Lower was submitted earlier. */
  readonly seq: number;
}

/** What runs, and who had a turn when. */
export interface RunningNow {
  /** Organisation of each job that runs. */
  readonly orgIds: readonly string[];
  /** Number of the turn that an organisation had last; higher is later. */
  readonly lastTurns: ReadonlyMap<string, number>;
}

/**
 * Chooses among the organisations that have jobs waiting and may run one more: that with the fewest
 * running ones, then that whose last turn is longest ago, then the one that waits longest. So an
 * organisation with a thousand jobs delays another's by those that run already, not by all.
 * Undefined: nothing can be started now.
 */
export function nextTurn(
  waiting: readonly FirstInLine[],
  { orgIds, lastTurns }: RunningNow,
  { total, perOrganization }: QueueLimits,
): FirstInLine | undefined {
  if (orgIds.length >= total) return undefined;
  const running = ({ orgId }: FirstInLine) => orgIds.filter((id) => id === orgId).length;
  const lastTurn = ({ orgId }: FirstInLine) => lastTurns.get(orgId) ?? 0;
  const [first] = waiting.filter((one) => running(one) < perOrganization).toSorted((a, b) =>
    running(a) - running(b) || lastTurn(a) - lastTurn(b) || a.seq - b.seq
  );
  return first;
}
