import { compare, parse } from "semver";
import type { KnownRelease } from "./known_release.ts";
import type { SelectingPart } from "./part_selectors.ts";
import { isOffered } from "./resolve.ts";
import { isSelected } from "./rollout_rules.ts";
import type { OutcomeRow } from "./rollout_store.ts";

/** How far a rollout is: machines, each counted once. */
export interface Progress {
  /** It is offered to them, and they have reported nothing of it. */
  readonly pending: number;
  readonly updating: number;
  readonly done: number;
  readonly rolledBack: number;
  /** Newest first. */
  readonly problems: readonly Problem[];
}

export interface Problem {
  readonly partId: string;
  readonly machineName: string;
  readonly reason: string;
  readonly atMs: number;
}

/** What a part's programs reported. */
export interface ToldPart {
  /** `os/architecture`; empty when it never reported it. */
  readonly platform: string;
  /** Version of the release's program; empty when it never reported it. */
  readonly installed: string;
}

const MOST_PROBLEMS = 20;

/** Counts where a rollout stands. */
export function progressOf(
  release: KnownRelease,
  parts: readonly SelectingPart[],
  outcomes: readonly OutcomeRow[],
  told: (partId: string) => ToldPart,
): Progress {
  const ended = new Set(outcomes.map((row) => row.part_id));
  const names = new Map(parts.map((part) => [part.id, part.machineName]));
  const count = (outcome: OutcomeRow["outcome"]) =>
    outcomes.filter((row) => row.outcome === outcome).length;
  return {
    pending: parts.filter((part) => !ended.has(part.id) && waits(release, part, told(part.id)))
      .length,
    updating: count("updating"),
    done: count("done"),
    rolledBack: count("rolled back"),
    problems: outcomes.filter((row) => row.outcome === "rolled back").slice(0, MOST_PROBLEMS)
      .map((row) => ({
        partId: row.part_id,
        machineName: names.get(row.part_id) ?? "",
        reason: row.reason,
        atMs: row.at,
      })),
  };
}

function waits(release: KnownRelease, { id, selectors }: SelectingPart, told: ToldPart): boolean {
  const { rollout, program, version } = release;
  if (release.withdrawnAtMs !== undefined) return false;
  if (!isOffered(release, selectors.byProgram[program])) return false;
  if (!release.files.some(({ platform }) => platform === told.platform)) return false;
  const isNewer = parse(told.installed) !== null && compare(told.installed, version) > 0;
  return !isNewer && (!rollout || isSelected(rollout, release.id, { id, tags: selectors.tags }));
}
