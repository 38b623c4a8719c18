import type { InstalledVersion } from "../../state/agent_state.ts";
import type { Failures, Health } from "./control.ts";
import type { Candidate, ProgramRecord } from "./record.ts";
import type { UpdateEvent } from "./update_machine.ts";

export type ProgramName = "machine-server" | "machine-agent";

/** Who continues with an update: this process, or the agent that the service starts next. */
export type Continues = "here" | "elsewhere";

/**
 * The place of one program on this host. Every method may be called again after it was cut off
 * at any point, and then does what is left to do.
 */
export interface ProgramSlot {
  readonly program: ProgramName;
  /** What the links say, where no record is kept. */
  found(): Promise<InstalledVersion | undefined>;
  /** Brings links and files in line with a record; what happened meanwhile comes back as events. */
  resume(record: ProgramRecord): Promise<readonly UpdateEvent[]>;
  /** Why it cannot be updated at all at the moment. */
  problem(): string | undefined;
  /** Lets a version run from now on; undefined: none. Does nothing when it is let already. */
  letRun(version: InstalledVersion | undefined): void;
  /**
   * Ends the running version and makes the link lead to the candidate.
   *
   * @throws {Error} when it cannot; {@link undoSwap} then puts back what was changed.
   */
  swap(candidate: Candidate, current: InstalledVersion | undefined): Promise<void>;
  undoSwap(current: InstalledVersion | undefined): Promise<void>;
  /** Starts the candidate. */
  beginTrial(candidate: Candidate): Continues;
  failures(): Failures;
  healthy(cloudBefore: boolean): Health;
  reachesCloud(): boolean;
  /** Trusts the version on trial for good. */
  commit(): Promise<void>;
  /** Makes the link lead to the current version again, with the state that it can read. */
  rollBack(
    candidate: Candidate,
    current: InstalledVersion,
    reason: string,
  ): Promise<Continues>;
  /** This process ends in order while it watches a trial. */
  leaveTrial(): Promise<void>;
  /** Removes what was kept for the way back, or for the report of it. */
  tidy(): Promise<void>;
}
