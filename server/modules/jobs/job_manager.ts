/** Calls to resources that the configuration has made at set times. */
import { sameJson } from "../../../shared/base/json/json.ts";
import type { JobConfig } from "../../../shared/config/operation.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { runJob } from "./job.ts";
import type { JobCaller } from "./job_caller.ts";
import { JobHistory } from "./job_history.ts";

/** Runs closer together than this are reported together. Milliseconds. */
const SPACING_MS = 1_000;

export interface JobManagerOptions {
  readonly clock: Clock;
  readonly call: JobCaller;
  /** `rdk.job_manager`; each job logs below it under its name. */
  readonly log: Logger;
  /** Called after runs, at most once a second. Must not throw. */
  readonly onChange: () => void;
}

/** What became of a job's last runs, at most 10 of each kind, the newest last. */
export interface JobSnapshot {
  readonly name: string;
  readonly recentSuccessfulRuns: Date[];
  readonly recentFailedRuns: Date[];
}

interface RunningJob {
  readonly config: JobConfig;
  readonly history: JobHistory;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** Keeps the jobs of the configuration going. */
export class JobManager {
  #jobs = new Map<string, RunningJob>();
  #spacing: Timer | undefined;
  #isUntold = false;

  constructor(private readonly options: JobManagerOptions) {}

  /**
   * Makes these the jobs that run. What is the same continues as it is; what is gone or different
   * is stopped in the middle of its run. A job that stays by its name keeps its history.
   */
  apply(jobs: readonly JobConfig[]): void {
    const before = this.#jobs;
    this.#jobs = new Map();
    for (const [name, config] of new Map(jobs.map((job) => [job.name, job]))) {
      const old = before.get(name);
      if (old && isSameWork(old.config, config)) {
        this.#jobs.set(name, old);
        before.delete(name);
      } else {
        this.#jobs.set(name, this.#start(config, old?.history ?? new JobHistory()));
      }
    }
    for (const { controller } of before.values()) controller.abort();
  }

  /** The jobs in the order of the configuration. */
  snapshot(): JobSnapshot[] {
    return [...this.#jobs].map(([name, { history }]) => ({
      name,
      recentSuccessfulRuns: history.successful,
      recentFailedRuns: history.failed,
    }));
  }

  /** Stops all jobs and aborts the runs under way. */
  async close(): Promise<void> {
    const jobs = [...this.#jobs.values()];
    this.#jobs = new Map();
    for (const { controller } of jobs) controller.abort();
    this.#spacing?.cancel();
    await Promise.all(jobs.map(({ ended }) => ended));
  }

  #start(config: JobConfig, history: JobHistory): RunningJob {
    const { clock, call, log } = this.options;
    const onRun = () => this.#tell();
    const controller = new AbortController();
    const options = { clock, call, log: log.child(config.name), history, onRun };
    return { config, history, controller, ended: runJob(config, options, controller.signal) };
  }

  /** A continuous job may run a hundred times a second; who follows its status need not. */
  #tell(): void {
    this.#isUntold = this.#spacing !== undefined;
    if (this.#isUntold) return;
    this.#spacing = this.options.clock.setTimer(SPACING_MS, () => {
      this.#spacing = undefined;
      if (this.#isUntold) this.#tell();
    });
    this.options.onChange();
  }
}

/** The level of the log changes automatically. */
function isSameWork(left: JobConfig, right: JobConfig): boolean {
  const work = ({ log_configuration: _, ...rest }: JobConfig) => rest;
  return sameJson(work(left), work(right));
}
