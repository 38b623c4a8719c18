import type { Logger } from "../../../shared/log/logger.ts";
import { stackOf } from "../../../shared/base/errors/to_error.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { JobLogs } from "../jobs/job_logs.ts";
import { isEnded } from "../jobs/job_states.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { TrainingRunner } from "../runs/runner.ts";
import type { JobFolders } from "./job_folder.ts";
import type { JobRuns, RunEnd, StartedJob } from "./job_run.ts";
import type { RunEnds } from "./run_ends.ts";
import { toJobFailure } from "./job_failure.ts";
import { JobLogWriter } from "./job_log_writer.ts";
import type { RunRecords } from "./run_records.ts";
import { nextTurn, type QueueLimits } from "./turns.ts";

export interface TrainingQueueOptions {
  readonly limits: QueueLimits;
  readonly records: RunRecords;
  readonly runs: JobRuns;
  readonly ends: RunEnds;
  readonly folders: JobFolders;
  readonly logs: Pick<JobLogs, "append">;
  /** Loads what runs scripts. */
  readonly runner: () => Promise<Pick<TrainingRunner, "recover" | "close">>;
  /** Notified of each job that has ended. */
  readonly ended: (job: JobRow) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Running {
  readonly orgId: string;
  readonly stop: AbortController;
  /** Resolves when the run is over and its end is written down. */
  done: Promise<void>;
}

/** A run that does not stop is left alone after this time. */
const STOP_MS = 30_000;
/** After the database refused, the queue looks again. */
const TRY_AGAIN_MS = 2_000;

/**
 * Runs training jobs: those of an organisation in the order they were submitted, organisations in
 * turns. The database is what counts; nothing is kept here but what runs in this process.
 */
export class TrainingQueue {
  readonly #running = new Map<string, Running>();
  readonly #lastTurns = new Map<string, number>();
  readonly #stopping = new AbortController();
  #turn = 0;
  #isAwake = false;
  #pumping: Promise<void> | undefined;
  #recovering: Promise<void> | undefined;
  #runner: Promise<Pick<TrainingRunner, "close">> | undefined;
  #timer: Timer | undefined;

  constructor(private readonly options: TrainingQueueOptions) {}

  /** Puts right what a killed cloud left, then starts with the jobs that wait. Returns at once. */
  start(): void {
    this.#recovering = this.#recover();
    this.wake();
  }

  /** A job was submitted. Returns at once. */
  wake(): void {
    this.#isAwake = true;
    this.#pump();
  }

  /** A job was canceled: stops its run, or ends it when it waits. Returns at once. */
  cancel(jobId: string): void {
    const running = this.#running.get(jobId);
    if (running) return running.stop.abort(new Error("the job was canceled"));
    void this.#cancelWaiting(jobId);
  }

  /** Jobs that run in this process. */
  get runningJobs(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Stops what runs; these jobs wait for the next start of the cloud. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#stopping.abort(new Error("the cloud is shutting down"));
    await this.#recovering;
    await this.#pumping;
    const { clock, log } = this.options;
    try {
      const runs = [...this.#running.values()].map(({ done }) => done);
      const what = "stopping training jobs";
      await withDeadline(() => Promise.all(runs), { clock, deadlineMs: STOP_MS, what });
      const runner = await this.#runner?.catch(() => undefined);
      await runner?.close();
    } catch (error) {
      log.error("training jobs may still run; the next start of the cloud stops them", {
        event: "training_failed",
        error: String(error),
      });
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  #pump(): void {
    if (this.#isStopping || this.#pumping || !this.#recovering) return;
    this.#pumping = this.#work().catch((error) => {
      this.options.log.error("cannot start a training job; retrying", {
        event: "training_failed",
        error: String(error),
      });
      this.#lookAgain();
    }).finally(() => {
      this.#pumping = undefined;
      // Somebody may have called while it was about to rest.
      if (this.#isAwake && !this.#timer) this.#pump();
    });
  }

  async #work(): Promise<void> {
    await this.#recovering;
    const { records, limits } = this.options;
    while (this.#isAwake && !this.#isStopping) {
      this.#isAwake = false;
      while (this.#running.size < limits.total && !this.#isStopping) {
        const orgIds = [...this.#running.values()].map(({ orgId }) => orgId);
        const running = { orgIds, lastTurns: this.#lastTurns };
        const next = nextTurn(await records.firstInLine(), running, limits);
        const job = next && await records.bySeq(next.seq);
        if (!job) break;
        this.#lastTurns.set(job.org_id, ++this.#turn);
        await this.#begin(job);
      }
    }
  }

  async #begin(job: JobRow): Promise<void> {
    const started = Promise.withResolvers<void>();
    const running: Running = {
      orgId: job.org_id,
      stop: linkedController(this.#stopping.signal),
      done: started.promise,
    };
    // From here on a cancellation finds the run.
    this.#running.set(job.id, running);
    const over = () => {
      this.#running.delete(job.id);
      running.stop.abort();
    };
    try {
      await this.#openRunner();
      const start = await this.options.records.start(job);
      if (start) {
        running.done = this.#run(start, running.stop.signal).finally(() => {
          over();
          this.wake();
        });
      } else {
        over();
        await this.#cancelWaiting(job.id);
      }
    } catch (error) {
      over();
      throw error;
    } finally {
      started.resolve();
    }
  }

  /** Never rejects. */
  async #run(start: StartedJob, signal: AbortSignal): Promise<void> {
    const { runs, ends, log } = this.options;
    const { id: job, org_id: organization, attempts } = start.job;
    log.info("training job starts", { job, organization, attempts });
    const output = this.#outputOf(start.job);
    let end: RunEnd;
    try {
      end = await runs.run(start, output, signal);
    } catch (error) {
      const { code, reason, isOwnFault } = toJobFailure(error);
      if (isOwnFault) {
        log.error("a training job failed unexpectedly", {
          event: "training_failed",
          job,
          error: stackOf(error),
        });
      }
      end = { kind: "failed", code, reason };
    }
    try {
      const settled = await ends.settle(start.job, end, output, this.#stopping.signal);
      log.info("training job is over", { job, state: settled?.state ?? "gone" });
      this.#tell(settled);
      await output.flush();
    } catch (error) {
      log.error("cannot stop a training job", {
        event: "training_failed",
        job,
        error: String(error),
      });
    }
  }

  async #cancelWaiting(jobId: string): Promise<void> {
    const { records, ends, log } = this.options;
    try {
      // A job that an earlier process ran may still do so.
      await this.#recovering;
      const job = await records.byId(jobId);
      if (job?.state !== "canceling" || this.#running.has(jobId)) return;
      this.#tell(await ends.cancel(job, this.#outputOf(job)));
    } catch (error) {
      log.error("cannot cancel a training job; retrying", {
        event: "training_failed",
        error: String(error),
      });
      this.options.clock.setTimer(TRY_AGAIN_MS, () => {
        if (!this.#isStopping) this.cancel(jobId);
      });
    }
  }

  async #recover(): Promise<void> {
    const { records, ends, folders, log } = this.options;
    try {
      const cut = await records.cut();
      const left = await folders.left();
      if (cut.length + left.length === 0) return;
      await this.#openRunner();
      for (const jobId of left) await ends.removeFolder(jobId);
      for (const job of cut) {
        const output = this.#outputOf(job);
        this.#tell(await ends.settleCut(job, output, this.#stopping.signal));
        await output.flush();
      }
    } catch (error) {
      log.error("cannot put right what the last run of this cloud left of training jobs", {
        event: "training_failed",
        error: String(error),
      });
    }
  }

  /** Before its first use it ends what an earlier process left running. Never rejects. */
  async #openRunner(): Promise<void> {
    const { runner, log } = this.options;
    this.#runner ??= runner().then(async (runner) => {
      await runner.recover().catch((error) =>
        log.error("cannot stop what an earlier run of this cloud left of training jobs", {
          event: "training_failed",
          error: String(error),
        })
      );
      return runner;
    });
    // A runner that cannot be loaded is reported by the job that needs it.
    await this.#runner.catch(() => undefined);
  }

  #tell(job: JobRow | undefined): void {
    if (job && isEnded(job.state)) this.options.ended(job);
  }

  #outputOf({ seq: jobSeq }: JobRow): JobLogWriter {
    const { logs, clock, log } = this.options;
    return new JobLogWriter({ jobSeq, logs, clock, log });
  }

  #lookAgain(): void {
    this.#isAwake = true;
    this.#timer?.cancel();
    if (this.#isStopping) return;
    this.#timer = this.options.clock.setTimer(TRY_AGAIN_MS, () => {
      this.#timer = undefined;
      this.#pump();
    });
  }
}
