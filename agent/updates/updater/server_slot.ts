import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { dropCopies, restoreCopies, saveCopies } from "../../state/state_copies.ts";
import type { Failures, Health, ServerControl } from "./control.ts";
import { foundVersion, isFile } from "./found_version.ts";
import type { ProgramLink } from "./program_link.ts";
import { type Candidate, chosenVersion, type ProgramRecord } from "./record.ts";
import type { Continues, ProgramSlot } from "./slot.ts";
import type { UpdateEvent } from "./update_machine.ts";

export interface ServerSlotOptions {
  readonly link: ProgramLink;
  readonly control: ServerControl;
  /** Databases of the server, `$MACHINE_HOME/server.db`, as its settings are at the moment. */
  readonly databases: () => readonly string[];
  readonly log: Logger;
}

/** machine-server: a child of this agent, so this agent does every step. */
export class ServerSlot implements ProgramSlot {
  readonly program = "machine-server";
  readonly #options: ServerSlotOptions;
  #running: InstalledVersion | undefined;

  constructor(options: ServerSlotOptions) {
    this.#options = options;
  }

  found(): Promise<InstalledVersion | undefined> {
    return foundVersion(this.#options.link);
  }

  async resume(record: ProgramRecord): Promise<readonly UpdateEvent[]> {
    const { log } = this.#options;
    const { state, current, previous } = record;
    if (state.kind !== "trial" && current && !await isFile(current.path)) {
      log.error("the installed machine-server is missing", {
        event: "server_missing",
        path: current.path,
      });
      const isThere = previous !== undefined && await isFile(previous.path);
      if (isThere) await this.#mend(previous.path);
      return [{ type: "resumed" }, { type: "lost", other: isThere ? previous : undefined }];
    }
    const ought = chosenVersion(record) ?? current;
    if (ought) await this.#mend(ought.path);
    return state.kind === "swapping" || state.kind === "trial" ? [{ type: "resumed" }] : [];
  }

  problem(): undefined {
    return undefined;
  }

  letRun(version: InstalledVersion | undefined): void {
    if (!version || version.path === this.#running?.path) return;
    this.#running = version;
    this.#options.control.start(version);
  }

  async swap(candidate: Candidate, current: InstalledVersion | undefined): Promise<void> {
    const { link, databases, log } = this.#options;
    const { version } = candidate.target;
    // Once while the old version serves: a disk without room is found before anything ends.
    if (current) await saveCopies(databases(), version, log, { isInUse: true });
    await this.#stop();
    faultPoint("update.swap.stopped");
    if (current) await saveCopies(databases(), version, log);
    faultPoint("update.swap.copied");
    await link.turn(candidate.installed.path);
    faultPoint("update.swap.linked");
  }

  async undoSwap(current: InstalledVersion | undefined): Promise<void> {
    const { link } = this.#options;
    if (current && await link.read() !== current.path) await link.turn(current.path);
  }

  beginTrial({ installed }: Candidate): Continues {
    this.letRun(installed);
    return "here";
  }

  failures(): Failures {
    return this.#options.control.failures();
  }

  healthy(cloudBefore: boolean): Health {
    return this.#options.control.healthy(cloudBefore);
  }

  reachesCloud(): boolean {
    return this.#options.control.reachesCloud();
  }

  async commit(): Promise<void> {
    await dropCopies(this.#options.databases());
    faultPoint("update.commit.dropped");
  }

  async rollBack(candidate: Candidate, current: InstalledVersion): Promise<Continues> {
    const { link, databases, log } = this.#options;
    await this.#stop();
    faultPoint("update.rollback.stopped");
    await restoreCopies(databases(), candidate.target.version, log);
    faultPoint("update.rollback.restored");
    await link.turn(current.path);
    faultPoint("update.rollback.linked");
    return "here";
  }

  async leaveTrial(): Promise<void> {}

  async tidy(): Promise<void> {
    await dropCopies(this.#options.databases());
  }

  /** The record counts; the link only follows. A disk that takes no change must not hold it up. */
  async #mend(path: string): Promise<void> {
    const { link, log } = this.#options;
    try {
      if (await link.read() !== path) await link.turn(path);
    } catch (error) {
      log.error("the link to machine-server cannot be repaired", {
        event: "update_blocked",
        error,
      });
    }
  }

  async #stop(): Promise<void> {
    this.#running = undefined;
    await this.#options.control.stop();
  }
}
