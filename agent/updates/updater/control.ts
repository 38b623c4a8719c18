import type { Watched } from "../../../shared/workers/watched.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";

/**
 * How a program on trial is doing. "not yet" may become better and has a deadline; "no" will not
 * become better: the trial ends at once.
 */
export interface Health {
  readonly is: "yes" | "not yet" | "no";
  /** Why it is not "yes", for people. Empty with "yes". */
  readonly why: string;
  /**
   * It cannot be "yes" now for a reason that the version has no part in: the server is switched
   * off, or the cloud is away for the agent, too. The deadline stands still.
   */
  readonly isPaused?: boolean;
}

/** Starts and ends of a trial that came to nothing. */
export interface Failures {
  /** Failed starts and unexpected ends since the last `start()`; never goes down in between. */
  readonly count: number;
  /** What happened last. */
  readonly reason: string;
}

/** The server as the updates see it. Supervision implements it. */
export interface ServerControl {
  /**
   * Ends the server with everything it started and keeps it ended until `start()`. Resolves when
   * all of it is gone; at once when nothing runs.
   */
  stop(): Promise<void>;
  /** From now on this version is kept running: started again after a crash, always this one. */
  start(version: InstalledVersion): void;
  failures(): Failures;
  /**
   * Whether the started version serves: ready line, `/restart_status` answered, and the cloud
   * reached when `cloudBefore` is true.
   */
  healthy(cloudBefore: boolean): Health;
  /** Whether the server reaches the cloud now. */
  reachesCloud(): boolean;
}

/** This agent as its own updates see it. */
export interface AgentControl {
  /** The file that this process was started from; undefined when that cannot be determined. */
  readonly runningPath: string | undefined;
  readonly version: string;
  /**
   * Why this agent cannot be replaced: nothing would start it again, for example. Undefined when
   * it can.
   */
  readonly problem: string | undefined;
  /** Whether this agent does its work: its workers run, and the cloud is reached if wanted. */
  healthy(cloudBefore: boolean): Health;
  reachesCloud(): boolean;
  /** Ends the server and this process, so that the service starts the agent that the link names. */
  restart(reason: string): void;
}

/** When programs may be restarted. The maintenance window implements it. */
export interface RestartWindow {
  /** Whether it is open now. */
  permission(): RestartPermission | Promise<RestartPermission>;
  /** Set when {@link permission} may have another answer. */
  readonly observed: Watched<unknown>;
}

export type RestartPermission =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly why: string; readonly since: Date };
