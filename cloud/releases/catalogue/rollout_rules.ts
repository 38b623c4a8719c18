import { createHash } from "node:crypto";
import type { ReleaseOutcome } from "../../storage/database/release_schema.ts";
import type { KnownRollout } from "./known_release.ts";

/** Steps that a percentage is counted in: a hundredth of a percent. */
const STEPS = 10_000;

/**
 * Whether a machine is among those that a rollout has reached: it has one of the tags, or its
 * place, which the two ids give for good, lies within the percentage. A higher percentage
 * only adds machines, and another release begins with others.
 */
export function isSelected(
  rollout: Pick<KnownRollout, "percent" | "tags">,
  releaseId: string,
  part: { readonly id: string; readonly tags: readonly string[] },
): boolean {
  if (rollout.tags.some((tag) => part.tags.includes(tag))) return true;
  return placeOf(releaseId, part.id) < rollout.percent * STEPS / 100;
}

/** 0 to 9999, equally likely. */
function placeOf(releaseId: string, partId: string): number {
  const digest = createHash("sha256").update(`${releaseId} ${partId}`).digest();
  return digest.readUInt32BE(0) % STEPS;
}

/** What is known of a program on a machine, as its agent reported. */
export interface ToldProgram {
  readonly installed: string;
  readonly running: string;
  readonly target: string;
  readonly step:
    | "unknown"
    | "idle"
    | "downloading"
    | "waiting"
    | "installing"
    | "trial"
    | "rolling back"
    | "failed"
    | "refused";
  readonly bad: readonly ToldFailure[];
  readonly lastRollback: ToldFailure | undefined;
}

/** A version that did not do. */
export interface ToldFailure {
  readonly version: string;
  readonly reason: string;
  /** The machine's clock, milliseconds since 1970; distinguishes one failure from the next. */
  readonly atMs: number;
}

/** What came of a release on a machine. */
export interface Outcome {
  readonly outcome: ReleaseOutcome;
  readonly reason: string;
  /** Distinguishes a failure from the next one with the same reason; empty otherwise. */
  readonly mark: string;
}

/** What came of a version on a machine so far; undefined: nothing yet. */
export function outcomeOf(version: string, told: ToldProgram): Outcome | undefined {
  const isTarget = told.target === version;
  switch (told.step) {
    case "trial":
      if (isTarget || told.installed === version) return updating;
      break;
    case "installing":
      if (isTarget) return updating;
      break;
    case "downloading":
    case "waiting":
      if (isTarget && told.installed !== version) return updating;
      break;
    case "rolling back":
      if (isTarget) return updating;
      // Which of the two the link names by now does not show how it ends.
      if (told.installed === version) return undefined;
      break;
  }
  if (told.installed === version) {
    // An agent of another make reports no steps; what runs is then all there is to know.
    return told.running === version ? { outcome: "done", reason: "", mark: "" } : undefined;
  }
  const failure = told.bad.find((bad) => bad.version === version) ??
    (told.lastRollback?.version === version ? told.lastRollback : undefined);
  if (!failure) return undefined;
  return { outcome: "rolled back", reason: failure.reason, mark: String(failure.atMs) };
}

const updating: Outcome = { outcome: "updating", reason: "", mark: "" };

/** Whether what a machine reported is news: it is kept then, with the time. */
export function isNews(before: Outcome | undefined, now: Outcome): boolean {
  return before?.outcome !== now.outcome || before.mark !== now.mark;
}

/**
 * Why a rollout stops automatically; undefined: it continues.
 *
 * @param tried how many machines came to an end with it since it was begun or resumed, and how
 * many of them rolled back
 */
export function whyStop(
  rollout: Pick<KnownRollout, "stopPercent" | "stopMinimum">,
  tried: { readonly done: number; readonly rolledBack: number },
): string | undefined {
  const { stopPercent, stopMinimum } = rollout;
  const all = tried.done + tried.rolledBack;
  if (stopPercent <= 0 || tried.rolledBack === 0 || all < stopMinimum) return undefined;
  if (tried.rolledBack * 100 < stopPercent * all) return undefined;
  const machines = all === 1 ? "the only machine" : `${tried.rolledBack} of ${all} machines`;
  return `${machines} that tried it rolled back, and ${stopPercent} % stop it`;
}
