import type { Code } from "@connectrpc/connect";

/** The code of one run. */
export type TrainingScript =
  | {
    readonly kind: "custom";
    /**
     * Distinguishes this version of this script from all others; the environment is kept under it.
     */
    readonly key: string;
    /** What people call it: `namespace:name` and version. */
    readonly name: string;
    /** The archive: a Python source distribution as `.tar.gz`. Each call opens it again. */
    readonly archive: () => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  }
  | { readonly kind: "managed" };

/** One start of a job's script. */
export interface TrainingTask {
  readonly jobId: string;
  /** 1 for the first start of the job. */
  readonly attempt: number;
  readonly script: TrainingScript;
  /** Holds the dataset: the file of {@link datasetFile} and the images that it names. */
  readonly datasetFolder: string;
  /** JSON lines, a path within {@link datasetFolder}. */
  readonly datasetFile: string;
  /** Empty when the run starts; what lies here at its end, but for `tmp`, is the model. */
  readonly outputFolder: string;
  /** Given to the script as `--key=value`. */
  readonly arguments: Readonly<Record<string, string>>;
  /** What the script's environment has besides the usual: the job's own key, the cloud's address. */
  readonly environment: Readonly<Record<string, string>>;
  /** Key of a container out of {@link TrainingRunner.containers}; empty: the default. */
  readonly containerVersion: string;
}

/** Takes what a run prints, line by line. */
export interface TaskOutput {
  line(level: "debug" | "info" | "warn" | "error", message: string): void;
}

/** How a run ended. By then nothing of it is left running, on every way. */
export type TaskEnd =
  | { readonly kind: "succeeded" }
  | {
    readonly kind: "failed";
    readonly code: Code;
    /** For people: what went wrong, with the last lines of output where they help. */
    readonly reason: string;
  }
  /** The signal aborted. */
  | { readonly kind: "aborted" };

/** A Python with libraries that scripts can be run in. */
export interface TrainingContainer {
  readonly key: string;
  /** Where it comes from; empty for this host itself. */
  readonly uri: string;
  readonly framework: string;
  readonly description: string;
}

/**
 * Where scripts run: this host, a container engine or, later, a cluster whose runs report back.
 */
export interface TrainingRunner {
  /** What {@link TrainingTask.containerVersion} may name, the default first. */
  readonly containers: readonly TrainingContainer[];
  /** Runs a script to its end. Resolves with what went wrong; rejects for faults of its own only. */
  run(task: TrainingTask, output: TaskOutput, signal: AbortSignal): Promise<TaskEnd>;
  /**
   * Ends all that runs of an earlier process of this cloud left running, and removes their folders.
   * Called once, before the first {@link run}.
   */
  recover(): Promise<void>;
  close(): Promise<void>;
}
