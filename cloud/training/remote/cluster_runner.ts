import { Code } from "@connectrpc/connect";
import { join, resolve } from "node:path";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { retry } from "../../../shared/base/time/retry.ts";
import { containerOf } from "../runs/container_choice.ts";
import { RUN_LIMITS, type RunLimits, timeBreach } from "../runs/limits.ts";
import type { ManagedScript } from "../runs/managed_script.ts";
import { RunFailedError } from "../runs/run_failure.ts";
import { RunFolders } from "../runs/run_folder.ts";
import type { RunOutput } from "../runs/run_output.ts";
import { Runs } from "../runs/runs.ts";
import type {
  TaskEnd,
  TaskOutput,
  TrainingContainer,
  TrainingRunner,
  TrainingTask,
} from "../runs/runner.ts";
import {
  type Cluster,
  ClusterAwayError,
  type ClusterJob,
  type ClusterJobState,
  type ClusterLog,
  ClusterRefusedError,
} from "./cluster.ts";
import type { Exchange } from "./exchange.ts";
import { noModel, openRemoteRun, type RemoteRun } from "./remote_run.ts";

export interface ClusterRunnerOptions {
  readonly cluster: Cluster;
  readonly exchange: Exchange;
  /** Folder of the cloud's data. */
  readonly dataDir: string;
  readonly limits?: Partial<RunLimits> | undefined;
  readonly managed?: ManagedScript | undefined;
  /** Where nodes of the cluster reach this cloud. */
  readonly cloudUrl: () => string;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  readonly log: Logger;
}

const RUNS_FOLDER = "training-runs";
/** How long a cluster may be away before its runs count as lost. */
const AWAY_MS = 5 * 60_000;
/** How long a job may wait for what is wrong and may be put right. */
const WRONG_MS = 5 * 60_000;
/** Starts of one run on clusters that lost it. */
const MOST_STARTS = 3;
/** No attempt to stop a job begins later, after the first. */
const STOP_MS = 20_000;
const BACKOFF = { minMs: 1_000, maxMs: 15_000 };

type Lost = Extract<ClusterJobState, { kind: "lost" }>;

/** Runs each script as a job of a cluster. */
export class ClusterRunner implements TrainingRunner {
  readonly containers: readonly TrainingContainer[];
  readonly #limits: RunLimits;
  readonly #folders: RunFolders;
  readonly #runs: Runs;

  constructor(private readonly options: ClusterRunnerOptions) {
    this.containers = options.cluster.containers;
    this.#limits = { ...RUN_LIMITS, ...options.limits };
    this.#folders = new RunFolders(join(resolve(options.dataDir), RUNS_FOLDER));
    this.#runs = new Runs(options.clock);
  }

  run(task: TrainingTask, output: TaskOutput, signal: AbortSignal): Promise<TaskEnd> {
    return this.#runs.run(output, signal, async (printed, signal) => {
      signal.throwIfAborted();
      const container = containerOf(task, this.containers);
      const folder = await this.#folders.make(task.jobId);
      try {
        const { exchange, managed, cloudUrl, cluster: { installs } } = this.options;
        const options = { exchange, managed, cloudUrl, limits: this.#limits, installs };
        const run = await openRemoteRun(task, folder, options, signal);
        try {
          await this.#runOnCluster(task, run, container, printed, signal);
        } finally {
          await run.close();
        }
      } finally {
        await folder.remove();
      }
    });
  }

  /** Stops the jobs that an earlier process of this cloud left on the cluster. */
  async recover(): Promise<void> {
    const { cluster, cloudUrl, log, processes } = this.options;
    try {
      const left = await this.#patiently(() => cluster.left(cloudUrl()));
      // One may be on a node that is gone, and not end.
      const stopped = await Promise.all(left.map((id) => this.#stopped(id)));
      const jobs = stopped.filter((isStopped) => isStopped).length;
      if (jobs > 0) {
        log.warn(`stopped jobs on the ${cluster.name} that an earlier start had left`, { jobs });
      }
    } catch (error) {
      log.error(`cannot look for jobs of an earlier start on the ${cluster.name}`, {
        event: "training_failed",
        error: (error as Error).message,
      });
    }
    await this.#folders.recover(processes);
  }

  close(): Promise<void> {
    return this.#runs.close();
  }

  async #runOnCluster(
    { jobId }: TrainingTask,
    run: RemoteRun,
    container: TrainingContainer,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, cluster: { name }, cloudUrl } = this.options;
    const late = linkedController(signal);
    const timer = clock.setTimer(this.#limits.wallMs, () => late.abort());
    const waiting = { text: "" };
    const left = new Set<string>();
    try {
      for (let starts = 0;;) {
        // A job that waits again has the number of its attempt again; the cluster may still know it.
        const id = `machine-training-${jobId}-${crypto.randomUUID().slice(0, 8)}`;
        const job = { id, run, container, limits: this.#limits, cloudUrl: cloudUrl() };
        await this.#stopLeft(left, output, late.signal);
        const lost = await this.#runOnce(job, output, waiting, left, late.signal);
        if (!lost) return;
        if (lost.isUnstarted) {
          output.note("warn", `${lost.reason}; submitting the run once more`);
          continue;
        }
        if (++starts === MOST_STARTS) {
          throw new RunFailedError(
            Code.Aborted,
            `the ${name} lost the run ${MOST_STARTS} times: ${lost.reason}`,
          );
        }
        const why = `the ${name} lost the run; starting it once more (${lost.reason})`;
        output.note("warn", why);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!late.signal.aborted) throw error;
      const { code, reason } = timeBreach("the run", this.#limits.wallMs);
      const why = waiting.text === "" ? "" : `; it was ${waiting.text}`;
      throw new RunFailedError(code, `${reason}${why}`);
    } finally {
      timer.cancel();
      late.abort();
    }
  }

  /** Two jobs of one run would write one model: those that did not stop must, before the next. */
  async #stopLeft(left: Set<string>, output: RunOutput, signal: AbortSignal): Promise<void> {
    for (const id of left) {
      try {
        await this.#tried(signal, output, () => this.options.cluster.stop(id));
      } catch (error) {
        signal.throwIfAborted();
        // Others are sent for one that is known and does not end, as on a node that is gone.
        if (error instanceof ClusterAwayError) {
          const reason = `${error.message}; the job ${id} may still run there`;
          throw new RunFailedError(Code.Unavailable, reason);
        }
      }
      left.delete(id);
    }
  }

  /**
   * @param left takes the job where it could not be stopped
   * @returns why the cluster lost it; undefined: it left a model
   */
  async #runOnce(
    job: ClusterJob,
    output: RunOutput,
    waiting: { text: string },
    left: Set<string>,
    signal: AbortSignal,
  ): Promise<Lost | undefined> {
    const { cluster } = this.options;
    const following = linkedController(signal);
    try {
      await this.#submit(job, output, signal);
      const logs = cluster.follow(job.id, output, following.signal);
      const state = await this.#ended(job.id, logs, output, waiting, signal);
      if (state.kind === "lost") return state;
      await logs.finish();
      const tail = output.tail();
      if (state.kind === "succeeded") {
        if (!await job.run.hasModel()) throw noModel(tail);
        return undefined;
      }
      const said = tail === "" ? "" : `; its last lines:\n${tail}`;
      throw new RunFailedError(state.code, `${state.reason}${said}`);
    } finally {
      following.abort();
      if (!await this.#stopped(job.id)) left.add(job.id);
    }
  }

  async #submit(job: ClusterJob, output: RunOutput, signal: AbortSignal): Promise<void> {
    const { cluster } = this.options;
    try {
      await this.#tried(signal, output, () => cluster.submit(job));
    } catch (error) {
      if (error instanceof ClusterRefusedError) {
        throw new RunFailedError(Code.FailedPrecondition, error.message);
      }
      if (!(error instanceof ClusterAwayError)) throw error;
      throw new RunFailedError(Code.Unavailable, error.message);
    }
    output.note("info", `submitted to the ${cluster.name} as ${job.id}`);
    output.forgetTail();
  }

  /** Follows it to its end. */
  async #ended(
    id: string,
    logs: ClusterLog,
    output: RunOutput,
    waiting: { text: string },
    signal: AbortSignal,
  ): Promise<Exclude<ClusterJobState, { kind: "waiting" | "running" }>> {
    const { cluster, clock } = this.options;
    let before = "";
    let sinceMs = 0;
    for (;;) {
      await cluster.nextLook(id, signal);
      const state = await this.#found(id, output, signal);
      if (state.kind !== "waiting" && state.kind !== "running") return state;
      const isWaiting = state.kind === "waiting";
      waiting.text = isWaiting ? state.text : "";
      const now = isWaiting ? state.why : state.kind;
      if (now !== before) {
        before = now;
        sinceMs = clock.monotonicMs();
        const isWrong = isWaiting && state.isWrong;
        output.note(isWrong ? "warn" : "info", isWaiting ? state.text : "the run has started");
      }
      if (!isWaiting) await logs.look();
      else if (state.isWrong && clock.monotonicMs() - sinceMs >= WRONG_MS) {
        return { kind: "failed", code: Code.FailedPrecondition, reason: state.text };
      }
    }
  }

  async #found(id: string, output: RunOutput, signal: AbortSignal): Promise<ClusterJobState> {
    try {
      return await this.#tried(signal, output, () => this.options.cluster.find(id));
    } catch (error) {
      if (error instanceof ClusterRefusedError) {
        return { kind: "failed", code: Code.FailedPrecondition, reason: error.message };
      }
      if (!(error instanceof ClusterAwayError)) throw error;
      return { kind: "lost", reason: error.message };
    }
  }

  /** Again while the cluster is away. @throws {ClusterAwayError} when it is for {@link AWAY_MS}. */
  async #tried<T>(signal: AbortSignal, output: RunOutput, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.options;
    const backoff = new Backoff(BACKOFF);
    const sinceMs = clock.monotonicMs();
    for (let isTold = false;;) {
      let waitMs: number;
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof ClusterAwayError)) throw error;
        if (clock.monotonicMs() - sinceMs >= AWAY_MS) throw error;
        if (!isTold) output.note("warn", `${error.message}; retrying`);
        isTold = true;
        ({ waitMs } = error);
      }
      await clock.sleep(Math.max(waitMs, backoff.next()), signal);
    }
  }

  /** Whether it stopped. Never rejects. */
  async #stopped(id: string): Promise<boolean> {
    const { cluster, log } = this.options;
    try {
      await this.#patiently(() => cluster.stop(id));
      return true;
    } catch (error) {
      log.error(`cannot stop a job on the ${cluster.name}; it may still run there`, {
        event: "training_failed",
        job: id,
        error: (error as Error).message,
      });
      return false;
    }
  }

  /** Again while the cluster is away, for {@link STOP_MS}. */
  async #patiently<T>(ask: () => Promise<T>): Promise<T> {
    const { clock } = this.options;
    return await retry(ask, {
      clock,
      backoff: new Backoff(BACKOFF),
      deadlineMs: STOP_MS,
      isRetriable: (error) => error instanceof ClusterAwayError,
    });
  }
}
