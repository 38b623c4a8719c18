import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type AgentStatus,
  type ProgramStatus,
  ProgramStatus_State,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Program } from "../../storage/database/release_schema.ts";
import type { SelectorsOfParts } from "../catalogue/part_selectors.ts";
import type { ReleaseCatalogue } from "../catalogue/release_catalogue.ts";
import { isOffered } from "../catalogue/resolve.ts";
import { type Outcome, outcomeOf, type ToldProgram } from "../catalogue/rollout_rules.ts";
import type { RolloutStore } from "../catalogue/rollout_store.ts";

const PROGRAMS: readonly Program[] = ["machine-agent", "machine-server"];
const REMEMBERED_PARTS = 50_000;

/** Notes what came of releases on the machines, as their agents report. */
export class ReleaseOutcomes {
  /** What was noted last, by part: most reports say nothing new, and cost no query then. */
  readonly #noted = new Map<string, string>();

  constructor(
    private readonly catalogue: ReleaseCatalogue,
    private readonly selectors: SelectorsOfParts,
    private readonly rollouts: RolloutStore,
    private readonly log: Logger,
  ) {}

  /** Another node may have noted something of a part. */
  forget(partId: string): void {
    this.#noted.delete(partId);
  }

  /** Notes what a status says. Programs that are pinned are no part of any rollout. */
  async note(
    part: { readonly id: string; readonly revision_number: number },
    status: AgentStatus,
  ): Promise<void> {
    const { byProgram } = await this.selectors.of(part);
    const { releases } = await this.catalogue.read();
    const outcomes = new Map<string, Outcome | undefined>();
    for (const program of PROGRAMS) {
      const told = toldProgram(program === "machine-agent" ? status.agent : status.server);
      for (const release of releases) {
        if (release.program !== program || !isOffered(release, byProgram[program])) continue;
        outcomes.set(release.id, outcomeOf(release.version, told));
      }
    }
    const noted = JSON.stringify([...outcomes]);
    if (this.#noted.get(part.id) === noted) return;
    const stopped = await this.rollouts.record(part.id, outcomes);
    if (this.#noted.size >= REMEMBERED_PARTS) this.#noted.clear();
    this.#noted.set(part.id, noted);
    for (const [releaseId, reason] of stopped) {
      const { program, version } = releases.find((known) => known.id === releaseId) ?? {};
      this.log.warn("a rollout was stopped", {
        event: "rollout_stopped",
        program,
        version,
        reason,
      });
    }
  }
}

function toldProgram(status: ProgramStatus | undefined): ToldProgram {
  const rollback = status?.lastRollback;
  return {
    installed: status?.installed ?? "",
    running: status?.running ?? "",
    target: status?.target ?? "",
    step: STEPS[status?.state ?? ProgramStatus_State.UNSPECIFIED] ?? "unknown",
    bad: (status?.bad ?? []).map(({ version, reason, at }) => ({
      version,
      reason,
      atMs: timeMs(at),
    })),
    lastRollback: rollback && {
      version: rollback.from,
      reason: rollback.reason,
      atMs: timeMs(rollback.at),
    },
  };
}

const STEPS: Readonly<Record<ProgramStatus_State, ToldProgram["step"]>> = {
  [ProgramStatus_State.UNSPECIFIED]: "unknown",
  [ProgramStatus_State.IDLE]: "idle",
  [ProgramStatus_State.DOWNLOADING]: "downloading",
  [ProgramStatus_State.WAITING]: "waiting",
  [ProgramStatus_State.INSTALLING]: "installing",
  [ProgramStatus_State.TRIAL]: "trial",
  [ProgramStatus_State.ROLLING_BACK]: "rolling back",
  [ProgramStatus_State.FAILED]: "failed",
  [ProgramStatus_State.REFUSED]: "refused",
};

function timeMs(time: Timestamp | undefined): number {
  return time ? timestampMs(time) : 0;
}
