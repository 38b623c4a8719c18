import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import {
  beginTrial,
  endTrial,
  forgetRollback,
  forgiveStart,
  readRollback,
  readTrial,
  writeRollback,
} from "../guard/trial_file.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { dropCopies, saveCopies } from "../../state/state_copies.ts";
import type { AgentControl, Failures, Health } from "./control.ts";
import { foundVersion, versionOf } from "./found_version.ts";
import type { ProgramLink } from "./program_link.ts";
import type { Candidate, ProgramRecord } from "./record.ts";
import type { Continues, ProgramSlot } from "./slot.ts";
import type { UpdateEvent } from "./update_machine.ts";

export interface AgentSlotOptions {
  /** The agent's folder; the guard's files lie in it. */
  readonly dir: string;
  readonly link: ProgramLink;
  readonly control: AgentControl;
  /** Databases of the agent; this process may have them open. */
  readonly databases: readonly string[];
  /** The guard's patience with a version on trial, in seconds. Default: the guard's own. */
  readonly limitS?: number;
  readonly log: Logger;
}

/**
 * machine-agent itself. The old process prepares the swap and ends; the new one proves itself and
 * commits; when it cannot, the start guard puts the old one back, which then finds the note.
 */
export class AgentSlot implements ProgramSlot {
  readonly program = "machine-agent";
  readonly #options: AgentSlotOptions;

  constructor(options: AgentSlotOptions) {
    this.#options = options;
  }

  async found(): Promise<InstalledVersion | undefined> {
    const { control, link } = this.#options;
    const { runningPath, version } = control;
    const found = runningPath === undefined ? await foundVersion(link) : versionOf(runningPath);
    return { ...(found ?? { url: "", path: "" }), version };
  }

  async resume(record: ProgramRecord): Promise<readonly UpdateEvent[]> {
    const { dir, log, control: { runningPath } } = this.#options;
    const { state, current } = record;
    const note = await readRollback(dir);
    if (note && note.from !== runningPath) {
      return [{ type: "was-rolled-back", path: note.from, reason: note.reason }];
    }
    if (runningPath === undefined) return [];
    const candidate = "candidate" in state ? state.candidate.installed.path : undefined;
    const isNew = candidate === runningPath;
    switch (state.kind) {
      case "swapping":
        if (isNew) return [{ type: "swapped" }];
        await this.undoSwap(current).catch((error) =>
          log.error("what was prepared for another machine-agent cannot be removed", {
            event: "update_blocked",
            error,
          })
        );
        return [{ type: "resumed" }];
      case "trial":
      case "committing":
      case "rolling-back": {
        // The guard counts the starts of a trial, and distinguishes reboots from failures.
        if (isNew) return [];
        const reason = state.kind === "rolling-back"
          ? state.reason
          : "the agent before it was started instead";
        return [{ type: "was-rolled-back", path: candidate ?? "", reason }];
      }
      default:
        return await this.#compare(current, runningPath);
    }
  }

  problem(): string | undefined {
    return this.#options.control.problem;
  }

  /** It runs. */
  letRun(): void {}

  async swap(candidate: Candidate, current: InstalledVersion | undefined): Promise<void> {
    const { dir, link, databases, limitS, log } = this.#options;
    const previous = current?.path ?? "";
    if (previous === "") throw new Error("it is not known which file this agent runs from");
    await saveCopies(databases, candidate.target.version, log);
    faultPoint("update.agent-swap.copied");
    await beginTrial(dir, {
      trial: candidate.installed.path,
      previous,
      ...(limitS === undefined ? {} : { limitS }),
    });
    faultPoint("update.agent-swap.on-trial");
    await link.turn(candidate.installed.path);
    faultPoint("update.agent-swap.linked");
  }

  async undoSwap(current: InstalledVersion | undefined): Promise<void> {
    const { dir, link } = this.#options;
    if (current && await link.read() !== current.path) await link.turn(current.path);
    // Last: as long as it is there, the guard knows of the other version.
    await endTrial(dir);
  }

  beginTrial({ installed, target }: Candidate): Continues {
    const { control } = this.#options;
    if (control.runningPath === installed.path) return "here";
    control.restart(`machine-agent ${target.version} is tried`);
    return "elsewhere";
  }

  /** Its own failed starts are counted by the guard. */
  failures(): Failures {
    return { count: 0, reason: "" };
  }

  healthy(cloudBefore: boolean): Health {
    return this.#options.control.healthy(cloudBefore);
  }

  reachesCloud(): boolean {
    return this.#options.control.reachesCloud();
  }

  async commit(): Promise<void> {
    // From here on the guard leaves this version alone.
    await endTrial(this.#options.dir);
    faultPoint("update.agent-commit.ended");
    await dropCopies(this.#options.databases);
  }

  async rollBack(
    candidate: Candidate,
    current: InstalledVersion,
    reason: string,
  ): Promise<Continues> {
    const { dir, link, control } = this.#options;
    const from = candidate.installed.path;
    await writeRollback(dir, { from, to: current.path, reason, at: new Date() });
    faultPoint("update.agent-rollback.noted");
    await link.turn(current.path);
    faultPoint("update.agent-rollback.linked");
    await endTrial(dir);
    faultPoint("update.agent-rollback.ended");
    control.restart(`machine-agent ${candidate.target.version} is marked bad: ${reason}`);
    return "elsewhere";
  }

  /** The guard has counted this start; an end in order is no failure. */
  async leaveTrial(): Promise<void> {
    await forgiveStart(this.#options.dir);
  }

  async tidy(): Promise<void> {
    const { dir, databases } = this.#options;
    await forgetRollback(dir);
    await endTrial(dir);
    await dropCopies(databases);
  }

  /** Nothing is under way by the record; files and process may know of something else. */
  async #compare(
    current: InstalledVersion | undefined,
    runningPath: string,
  ): Promise<UpdateEvent[]> {
    const { dir, control: { version } } = this.#options;
    const installed = { ...versionOf(runningPath), version };
    const trial = await readTrial(dir);
    if (typeof trial === "object" && trial.trial === runningPath) {
      // The record was lost in the middle of a trial, and the guard still waits for its end.
      return [{ type: "on-trial", installed, previous: versionOf(trial.previous) }];
    }
    // A trial that was aborted before the link was turned.
    if (trial) await endTrial(dir).catch(() => {}); // the guard leaves another version alone
    const isKnown = current?.path === runningPath &&
      (current.version === version || current.version === "customURL");
    return isKnown ? [] : [{ type: "adopted", installed }];
  }
}
