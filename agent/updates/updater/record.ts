import type { InstalledVersion } from "../../state/agent_state.ts";
import type { Target } from "./target.ts";

/** What the updates know of one program; on disk as one row, written before each step. */
export interface ProgramRecord {
  readonly state: UpdateState;
  /** The version that runs unless another is on trial. */
  readonly current: InstalledVersion | undefined;
  /** The version before; kept, so that there is a way back. */
  readonly previous: InstalledVersion | undefined;
  /** What the cloud wants; undefined when it names nothing. */
  readonly target: Target | undefined;
  /** Versions that were tried and marked bad, the newest last. */
  readonly bad: readonly BadVersion[];
  readonly lastRollback: Rollback | undefined;
  /** ISO 8601; of the last change of the state. */
  readonly changedAt: string;
  /** ISO 8601; when the current version became that. */
  readonly installedAt: string | undefined;
}

export interface BadVersion {
  /** See targetKey(). */
  readonly key: string;
  readonly version: string;
  /** The file that was tried. */
  readonly path: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly at: string;
}

export interface Rollback {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The current version is the wanted one. */
export interface Idle {
  readonly kind: "idle";
}
/** What is wanted cannot be had; what is there stays. */
export interface Held {
  readonly kind: "held";
  readonly problem: string;
  /** It is one of the bad versions; looking again helps nothing. */
  readonly isBad: boolean;
}
export interface Downloading {
  readonly kind: "downloading";
  readonly target: Target;
}
/** In the cache, checked and on disk. */
export interface Verified {
  readonly kind: "verified";
  readonly candidate: Candidate;
}
/** For the window, for the other program's update, or for a disk that can be written. */
export interface Waiting {
  readonly kind: "waiting";
  readonly candidate: Candidate;
  readonly why: string;
  /** ISO 8601. */
  readonly since: string;
}
/** The old version ends and the link is turned. The new one has not run yet. */
export interface Swapping {
  readonly kind: "swapping";
  readonly candidate: Candidate;
  /** The cloud was reached before. */
  readonly cloudBefore: boolean;
}
/** The new version runs and is watched. The old one is the current one still. */
export interface Trial {
  readonly kind: "trial";
  readonly candidate: Candidate;
  readonly cloudBefore: boolean;
  /** Failed starts in a row. */
  readonly failures: number;
  /** Healthy time so far, over reboots. */
  readonly healthyMs: number;
  /** Reboots or ends of the agent since the healthy time last grew. */
  readonly interruptions: number;
}
/** The trial has passed; what was kept for the way back is removed. */
export interface Committing {
  readonly kind: "committing";
  /** The current version by now. */
  readonly candidate: Candidate;
}
export interface Committed {
  readonly kind: "committed";
}
/** The trial has failed; the old version is put back. */
export interface RollingBack {
  readonly kind: "rolling-back";
  readonly candidate: Candidate;
  readonly reason: string;
}
export interface RolledBack {
  readonly kind: "rolled-back";
  readonly reason: string;
}

export type UpdateState =
  | Idle
  | Held
  | Downloading
  | Verified
  | Waiting
  | Swapping
  | Trial
  | Committing
  | Committed
  | RollingBack
  | RolledBack;

/** A version that is here and shall be tried. */
export interface Candidate {
  readonly target: Target;
  readonly installed: InstalledVersion;
}

const KINDS: ReadonlySet<string> = new Set<UpdateState["kind"]>([
  "idle",
  "held",
  "downloading",
  "verified",
  "waiting",
  "swapping",
  "trial",
  "committing",
  "committed",
  "rolling-back",
  "rolled-back",
]);

/** A program of which nothing is known but what its link leads to. */
export function newRecord(current: InstalledVersion | undefined, now: Date): ProgramRecord {
  return {
    state: { kind: "idle" },
    current,
    previous: undefined,
    target: undefined,
    bad: [],
    lastRollback: undefined,
    changedAt: now.toISOString(),
    installedAt: undefined,
  };
}

/**
 * What should run: the version on trial, else the current one. Never what a target says, so a
 * crash starts nothing new. Undefined while nothing may run, or when there is nothing.
 */
export function chosenVersion({ state, current }: ProgramRecord): InstalledVersion | undefined {
  switch (state.kind) {
    case "trial":
      return state.candidate.installed;
    case "swapping":
    case "rolling-back":
      return undefined;
    default:
      return current;
  }
}

/** Files that must stay: of every version that the record may go to. */
export function filesOf({ state, current, previous }: ProgramRecord): string[] {
  const candidate = "candidate" in state ? state.candidate.installed : undefined;
  return [current, previous, candidate].flatMap((version) => version?.path ?? []);
}

export function toText(record: ProgramRecord): string {
  return JSON.stringify(record);
}

/** Reads what {@link toText} wrote; undefined when it is something else. */
export function fromText(text: string): ProgramRecord | undefined {
  try {
    const { state, current, previous, target, bad, lastRollback, changedAt, installedAt } = JSON
      .parse(text);
    if (!KINDS.has(state?.kind) || !Array.isArray(bad) || typeof changedAt !== "string") {
      return undefined;
    }
    return { state, current, previous, target, bad, lastRollback, changedAt, installedAt };
  } catch {
    return undefined;
  }
}
