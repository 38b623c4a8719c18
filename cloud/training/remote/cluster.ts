import type { Code } from "@connectrpc/connect";
import type { RunLimits } from "../runs/limits.ts";
import type { RunOutput } from "../runs/run_output.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import type { RemoteRun } from "./remote_run.ts";

/** A cluster answers, and refuses. */
export class ClusterRefusedError extends Error {
  override readonly name = "ClusterRefusedError";

  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** A cluster does not answer, or not now. */
export class ClusterAwayError extends Error {
  override readonly name = "ClusterAwayError";

  /** @param waitMs how long it wants to be left alone */
  constructor(message: string, readonly waitMs = 0) {
    super(message);
  }
}

/** One start of a run, as a cluster gets it. */
export interface ClusterJob {
  /** `machine-training-…`, 62 characters that a name in a cluster may have, never used before. */
  readonly id: string;
  readonly run: RemoteRun;
  readonly container: TrainingContainer;
  readonly limits: RunLimits;
  /** Of the cloud that it belongs to. */
  readonly cloudUrl: string;
}

/** What a cluster says of a job. */
export type ClusterJobState =
  | {
    readonly kind: "waiting";
    /** The same as long as it waits for the same thing. */
    readonly why: string;
    /** For people: what it waits for, and what to do. */
    readonly text: string;
    /** It is no use to wait for long. */
    readonly isWrong?: boolean;
  }
  | { readonly kind: "running" }
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly code: Code; readonly reason: string }
  /** It ended by what is no fault of the script. */
  | {
    readonly kind: "lost";
    readonly reason: string;
    /** It never began, as the cluster lets jobs wait so long and no longer. */
    readonly isUnstarted?: boolean;
  };

/** The log of a job. */
export interface ClusterLog {
  /** Gives what was printed since. Called while it runs; never rejects. */
  look(): Promise<void>;
  /** Gives the rest. Never rejects: an end without its last lines is an end. */
  finish(): Promise<void>;
}

/**
 * A cluster that runs scripts as jobs of its own. Its calls throw {@link ClusterAwayError} and
 * {@link ClusterRefusedError}.
 */
export interface Cluster {
  /** For people: `Ray cluster`. */
  readonly name: string;
  /** What scripts can run in, the usual first. */
  readonly containers: readonly TrainingContainer[];
  /** It installs what managed training requires; else the run does. */
  readonly installs: boolean;
  /** Also when it was submitted before and the answer got lost. */
  submit(job: ClusterJob): Promise<void>;
  find(id: string): Promise<ClusterJobState>;
  /** Resolves when it is time to look at a job again. Rejects with the signal's reason. */
  nextLook(id: string, signal: AbortSignal): Promise<void>;
  /** @param signal aborts when nothing more of the log is wanted */
  follow(id: string, output: RunOutput, signal: AbortSignal): ClusterLog;
  /** Ends a job, and forgets it: when this resolves nothing of it runs. */
  stop(id: string): Promise<void>;
  /** Ids of jobs that a cloud left on it. */
  left(cloudUrl: string): Promise<string[]>;
}

/** Ids of jobs that a cloud submits; others name theirs as they like. */
export const OWN_JOB = /^machine-training-[\w-]{1,100}$/;
