import type { UpdateState } from "./record.ts";
import type { ProgramName } from "./slot.ts";

/** What the updates of the two programs see of each other. */
export interface Turn {
  /** Undefined: where the last run of the agent left it is not read yet. */
  readonly state: UpdateState | undefined;
  /** It failed to come any further; nobody waits for it. */
  readonly isStuck: boolean;
}

/**
 * Lets only one program be swapped or on trial at a time, so that it is clear which one a failure
 * is about. The agent goes first: its trial restarts the server anyway.
 */
export class Turns {
  readonly #updates = new Map<ProgramName, () => Turn>();

  join(program: ProgramName, turn: () => Turn): void {
    this.#updates.set(program, turn);
  }

  /** Why a program has to wait; undefined when it is its turn. */
  waitFor(program: ProgramName, waitedMs: number, agentFirstMs: number): string | undefined {
    const other: ProgramName = program === "machine-agent" ? "machine-server" : "machine-agent";
    const turn = this.#updates.get(other)?.();
    if (!turn) return undefined;
    const { state, isStuck } = turn;
    if (!state) return isStuck ? undefined : `how far the update of ${other} is has to be read`;
    if (isBusy(state)) return `the update of ${other} has to finish first`;
    if (program === "machine-agent" || isStuck || !isOnItsWay(state)) return undefined;
    return waitedMs < agentFirstMs ? `${other} is updated first` : undefined;
  }
}

function isBusy({ kind }: UpdateState): boolean {
  return kind === "swapping" || kind === "trial" || kind === "committing" ||
    kind === "rolling-back";
}

function isOnItsWay({ kind }: UpdateState): boolean {
  return kind === "downloading" || kind === "verified" || kind === "waiting";
}
