import type { ProgramRecord, UpdateState } from "./record.ts";
import type { ProgramName } from "./slot.ts";
import { versionName } from "./target.ts";

/** How a program's update stands, for the cloud and for people. */
export interface ProgramSnapshot {
  readonly program: ProgramName;
  /** Version that the link names; empty: none. */
  readonly installed: string;
  /** Version that the cloud names; empty: none. */
  readonly target: string;
  /** Version to go back to; empty: none. */
  readonly previous: string;
  readonly state: SnapshotState;
  readonly bytesDownloaded: number;
  /** 0 when unknown. */
  readonly totalBytes: number;
  /** Why the last step failed; empty when it did not. */
  readonly error: string;
  /** When `installed` became another version. */
  readonly lastChanged: Date | undefined;
  readonly waitingFor: string;
  readonly waitingSince: Date | undefined;
  readonly bad: readonly { readonly version: string; readonly reason: string; readonly at: Date }[];
  readonly lastRollback:
    | { readonly from: string; readonly to: string; readonly reason: string; readonly at: Date }
    | undefined;
  /** When a version on trial is trusted at the earliest. */
  readonly trialUntil: Date | undefined;
}

/** As the cloud's ProgramStatus.State. */
export type SnapshotState =
  | "idle"
  | "downloading"
  | "waiting"
  | "installing"
  | "trial"
  | "rolling-back"
  | "failed"
  | "refused";

/** What is not in the record. */
export interface Passing {
  readonly bytesDownloaded: number;
  readonly totalBytes: number;
  readonly error: string;
  /** Healthy time of the trial so far. */
  readonly healthyMs: number;
}

export function snapshotOf(
  program: ProgramName,
  record: ProgramRecord,
  { bytesDownloaded, totalBytes, error, healthyMs }: Passing,
  { now, trialMs }: { now: Date; trialMs: number },
): ProgramSnapshot {
  const { state, current, previous, target, bad, lastRollback, installedAt } = record;
  const installed = state.kind === "trial" ? state.candidate.installed : current;
  const behind = state.kind === "trial" ? current : previous;
  const named = target && target.problem === undefined ? target : undefined;
  const isWaiting = state.kind === "waiting";
  return {
    program,
    installed: installed ? versionName(installed) : "",
    target: named ? versionName(named) : "",
    previous: behind ? versionName(behind) : "",
    state: stateOf(state),
    bytesDownloaded: state.kind === "downloading" ? bytesDownloaded : 0,
    totalBytes: state.kind === "downloading" ? totalBytes : 0,
    error: state.kind === "held" ? state.problem : error,
    lastChanged: installedAt === undefined ? undefined : new Date(installedAt),
    waitingFor: isWaiting ? state.why : "",
    waitingSince: isWaiting ? new Date(state.since) : undefined,
    bad: bad.map(({ version, reason, at }) => ({ version, reason, at: new Date(at) })),
    lastRollback: lastRollback && { ...lastRollback, at: new Date(lastRollback.at) },
    trialUntil: state.kind === "trial"
      ? new Date(now.getTime() + Math.max(0, trialMs - healthyMs))
      : undefined,
  };
}

function stateOf(state: UpdateState): SnapshotState {
  switch (state.kind) {
    case "idle":
    case "committed":
    case "rolled-back":
      return "idle";
    case "held":
      return state.isBad ? "refused" : "failed";
    case "verified":
    case "waiting":
      return "waiting";
    case "swapping":
      return "installing";
    case "committing":
      return "trial";
    default:
      return state.kind;
  }
}
