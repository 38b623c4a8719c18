import { Code } from "@connectrpc/connect";
import { join, resolve } from "node:path";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
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
import type { Exchange } from "../remote/exchange.ts";
import { LogFollower } from "../remote/log_follower.ts";
import { ENTRYPOINT, noModel, openRemoteRun, type RemoteRun } from "../remote/remote_run.ts";
import { RayAwayError, type RayJob, type RayJobs, RayRefusedError } from "./ray_jobs.ts";

/** What one run asks of the cluster. */
export interface RayResources {
  readonly cpus: number;
  readonly gpus: number;
}

export interface RayRunnerOptions {
  readonly jobs: RayJobs;
  readonly exchange: Exchange;
  readonly resources: RayResources;
  /** Folder of the cloud's data. */
  readonly dataDir: string;
  readonly limits?: Partial<RunLimits> | undefined;
  readonly managed?: ManagedScript | undefined;
  /** Where computers of the cluster reach this cloud. */
  readonly cloudUrl: () => string;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  readonly log: Logger;
}

const RUNS_FOLDER = "training-runs";
const LOOK_MS = 1_000;
/** How long Ray may be away before its runs count as lost. */
const AWAY_MS = 5 * 60_000;
/** Starts of one run on clusters that lost it: a head that ends forgets its jobs. */
const MOST_STARTS = 3;
/** From the stop of a job to its end; Ray itself kills after 3 s. */
const STOP_MS = 30_000;
const STOP_LOOK_MS = 250;
const CLOUD = "machine_cloud";
/** Ids of jobs that a cloud submits. */
const OWN_ID = /^machine-training-[\w-]{1,100}$/;
const CONTAINER: TrainingContainer = {
  key: "ray",
  uri: "",
  framework: "",
  description: "Python of the Ray cluster, with what the script requires",
};

/** Runs each script as a job of a Ray cluster. */
export class RayRunner implements TrainingRunner {
  readonly containers = [CONTAINER];
  readonly #limits: RunLimits;
  readonly #folders: RunFolders;
  readonly #runs: Runs;

  constructor(private readonly options: RayRunnerOptions) {
    this.#limits = { ...RUN_LIMITS, ...options.limits };
    this.#folders = new RunFolders(join(resolve(options.dataDir), RUNS_FOLDER));
    this.#runs = new Runs(options.clock);
  }

  run(task: TrainingTask, output: TaskOutput, signal: AbortSignal): Promise<TaskEnd> {
    return this.#runs.run(output, signal, async (printed, signal) => {
      signal.throwIfAborted();
      containerOf(task, this.containers);
      const folder = await this.#folders.make(task.jobId);
      try {
        const { exchange, managed, cloudUrl } = this.options;
        const options = { exchange, managed, cloudUrl, limits: this.#limits };
        const run = await openRemoteRun(task, folder, options, signal);
        try {
          await this.#runOnCluster(task, run, printed, signal);
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
    const { jobs, cloudUrl, log, processes } = this.options;
    try {
      // Others of the cluster name their jobs as they like, and give them what metadata they like.
      const left = (await jobs.list()).filter(({ submission_id: id, metadata, status }) =>
        metadata?.[CLOUD] === cloudUrl() && !isOver(status) && OWN_ID.test(id ?? "")
      );
      for (const { submission_id: id } of left) if (id) await this.#stop(id);
      if (left.length > 0) {
        log.warn("stopped jobs on the Ray cluster that an earlier start had left", {
          jobs: left.length,
        });
      }
    } catch (error) {
      log.error("cannot look for jobs of an earlier start on the Ray cluster", {
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
    task: TrainingTask,
    run: RemoteRun,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<void> {
    const late = new AbortController();
    const timer = this.options.clock.setTimer(this.#limits.wallMs, () => late.abort());
    const ended = AbortSignal.any([signal, late.signal]);
    try {
      // A job that waits again has the number of its attempt again, and Ray may still know the name.
      const unique = crypto.randomUUID().slice(0, 8);
      for (let start = 1;; start++) {
        const id = `machine-training-${task.jobId}-${task.attempt}-${start}-${unique}`;
        const end = await this.#runOnce(id, run, output, ended);
        if (end !== "lost") return;
        if (start === MOST_STARTS) {
          throw new RunFailedError(
            Code.Aborted,
            `the Ray cluster lost the run ${MOST_STARTS} times; see whether its head restarts`,
          );
        }
        output.note("warn", "the Ray cluster lost the run; starting it once more");
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!late.signal.aborted) throw error;
      const { code, reason } = timeBreach("the run", this.#limits.wallMs);
      throw new RunFailedError(code, reason);
    } finally {
      timer.cancel();
    }
  }

  /** @returns `lost` when the cluster forgot the job, or was away for long. */
  async #runOnce(
    id: string,
    run: RemoteRun,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<"ended" | "lost"> {
    const { jobs, clock } = this.options;
    await this.#submit(id, run, output, signal);
    const logs = new LogFollower(() => jobs.logs(id), output, clock);
    try {
      const job = await this.#ended(id, logs, output, signal);
      if (!job) return "lost";
      await logs.finish();
      if (job.status === "SUCCEEDED") {
        if (!await run.hasModel()) throw noModel(output.tail());
        return "ended";
      }
      throw failureOf(job, output.tail());
    } finally {
      await this.#stop(id).catch((error) =>
        this.options.log.error("cannot stop a job on the Ray cluster; it may still run there", {
          event: "training_failed",
          job: id,
          error: (error as Error).message,
        })
      );
    }
  }

  async #submit(
    id: string,
    run: RemoteRun,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<void> {
    const { jobs, resources: { cpus, gpus }, cloudUrl } = this.options;
    const { environment, requirements } = run;
    const pip = requirements.length === 0
      ? {}
      : { pip: { packages: requirements, pip_check: false } as const };
    try {
      await this.#tried(signal, output, () =>
        jobs.submit({
          submission_id: id,
          entrypoint: ENTRYPOINT,
          runtime_env: { env_vars: environment, ...pip },
          metadata: { [CLOUD]: cloudUrl() },
          entrypoint_num_cpus: cpus,
          entrypoint_num_gpus: gpus,
          entrypoint_memory: this.#limits.memoryBytes,
        }));
    } catch (error) {
      if (error instanceof RayRefusedError) {
        throw new RunFailedError(Code.FailedPrecondition, error.message);
      }
      if (!(error instanceof RayAwayError)) throw error;
      throw new RunFailedError(Code.Unavailable, error.message);
    }
    output.note("info", `submitted to the Ray cluster as ${id}`);
    output.forgetTail();
  }

  /** Follows it to its end. Undefined: the cluster has lost it. */
  async #ended(
    id: string,
    logs: LogFollower,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<RayJob | undefined> {
    const { jobs, clock } = this.options;
    let state = "";
    for (;;) {
      await clock.sleep(LOOK_MS, signal);
      let job: RayJob | undefined;
      try {
        job = await this.#tried(signal, output, () => jobs.find(id));
      } catch (error) {
        if (error instanceof RayAwayError) return undefined;
        throw error;
      }
      if (!job || isOver(job.status)) return job;
      if (state !== job.status) {
        state = job.status;
        output.note("info", state === "PENDING" ? pendingText(job) : "the run has started");
      }
      if (state === "RUNNING") await logs.look();
    }
  }

  /** Again while Ray is away. @throws {RayAwayError} when it is for {@link AWAY_MS}. */
  async #tried<T>(signal: AbortSignal, output: RunOutput, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.options;
    const backoff = new Backoff({ minMs: LOOK_MS, maxMs: 15_000 });
    const sinceMs = clock.monotonicMs();
    for (let isTold = false;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof RayAwayError)) throw error;
        if (clock.monotonicMs() - sinceMs >= AWAY_MS) throw error;
        if (!isTold) output.note("warn", `${error.message}; retrying`);
        isTold = true;
      }
      await clock.sleep(backoff.next(), signal);
    }
  }

  /**
   * Ends a job and what it started, and has Ray forget it, with the key in its environment. Of some
   * Ray keeps the name: what watches jobs there enters one as failed when it finds it gone.
   */
  async #stop(id: string): Promise<void> {
    const { jobs, clock } = this.options;
    const untilMs = clock.monotonicMs() + STOP_MS;
    for (let isStopped = false;;) {
      const job = await jobs.find(id);
      if (!job) return;
      if (isOver(job.status)) return await jobs.delete(id);
      if (clock.monotonicMs() >= untilMs) throw new Error(`the job ${id} does not stop`);
      if (!isStopped) await jobs.stop(id);
      isStopped = true;
      await clock.sleep(STOP_LOOK_MS);
    }
  }
}

function isOver(status: RayJob["status"]): boolean {
  return status === "SUCCEEDED" || status === "FAILED" || status === "STOPPED";
}

function pendingText({ message }: RayJob): string {
  return `waiting for the Ray cluster: ${message || "it has not started the run yet"}`;
}

function failureOf({ status, message, driver_exit_code: exit }: RayJob, tail: string) {
  const said = tail === "" ? "" : `; its last lines:\n${tail}`;
  if (status === "STOPPED") {
    return new RunFailedError(Code.Aborted, `the run was stopped on the Ray cluster${said}`);
  }
  const why = exit === null || exit === undefined
    ? `failed on the Ray cluster: ${message || "it gives no reason"}`
    : `exited with code ${exit}`;
  return new RunFailedError(Code.Unknown, `the script ${why}${said}`);
}
