import { Code } from "@connectrpc/connect";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { retry } from "../../../shared/base/time/retry.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { JobFolders } from "./job_folder.ts";
import type { RunEnd } from "./job_run.ts";
import type { JobOutput } from "./job_log_writer.ts";
import type { RunRecords } from "./run_records.ts";

export interface RunEndsOptions {
  readonly records: RunRecords;
  readonly folders: JobFolders;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Starts of a job that end with the cloud being cut; after that it fails. */
const MOST_CUT_ATTEMPTS = 2;
/** How long is tried to write an end down while the cloud stops; the next start does it then. */
const GIVE_UP_MS = 3_000;

/** Writes down how runs ended, after what they left is gone. */
export class RunEnds {
  constructor(private readonly options: RunEndsOptions) {}

  /**
   * Removes the folder of a run and writes down its end. What somebody canceled meanwhile is
   * canceled; what the end of the cloud stopped waits again, as if it had not been started.
   *
   * @returns the job afterwards; undefined: it is gone, or had ended already
   */
  async settle(
    job: JobRow,
    end: RunEnd,
    output: JobOutput,
    stopping: AbortSignal,
  ): Promise<JobRow | undefined> {
    const { records } = this.options;
    await this.removeFolder(job.id);
    faultPoint("training.folder.after-remove");
    return await this.#tried(async () => {
      const now = await records.byId(job.id);
      if (!now || end.kind === "completed") return now;
      // Another node, which leads by now, has begun it again or ended it.
      if (now.key_id !== job.key_id) return undefined;
      if (now.state === "canceling") return await this.cancel(job, output);
      if (end.kind === "failed") return await this.#fail(job, end, output);
      if (!stopping.aborted) return undefined;
      await say(output, "info", "the cloud stops; the job waits for its next start");
      return await records.end(job, "requeue", { attempts: job.attempts - 1 });
    }, stopping);
  }

  /** A job that a killed cloud left in the middle, when nothing of it runs any more. */
  async settleCut(
    job: JobRow,
    output: JobOutput,
    stopping: AbortSignal,
  ): Promise<JobRow | undefined> {
    return await this.#tried(async () => {
      if (job.state === "canceling") return await this.cancel(job, output);
      if (job.attempts < MOST_CUT_ATTEMPTS) {
        await say(output, "warn", "the cloud was cut while this ran; the job starts once more");
        return await this.options.records.end(job, "requeue");
      }
      const reason =
        `the cloud was cut each of the ${job.attempts} times that this ran, and does ` +
        "not restart it automatically; submit the job again";
      return await this.#fail(job, { code: Code.Aborted, reason }, output);
    }, stopping);
  }

  /** Ends a job that somebody has canceled and that does not run. Undefined: nobody has. */
  async cancel(job: JobRow, output: JobOutput): Promise<JobRow | undefined> {
    await say(output, "info", "canceled");
    return await this.options.records.end(job, "canceled");
  }

  /** Somebody may cancel it between the look at its state and this. */
  async #fail(
    job: JobRow,
    { code, reason }: { readonly code: Code; readonly reason: string },
    output: JobOutput,
  ): Promise<JobRow | undefined> {
    await say(output, "error", `failed: ${reason}`);
    const change = { error_code: code, error_message: reason };
    return await this.options.records.end(job, "fail", change) ?? await this.cancel(job, output);
  }

  /** A folder that cannot be removed is removed at the next start. */
  async removeFolder(jobId: string): Promise<void> {
    const { folders, log } = this.options;
    await folders.remove(jobId).catch((error) =>
      log.error("cannot remove the folder of a training job", {
        event: "training_failed",
        job: jobId,
        error: String(error),
      })
    );
  }

  /** The database may refuse for a while, when the disk is full. */
  async #tried<T>(work: () => Promise<T>, stopping?: AbortSignal): Promise<T | undefined> {
    const { clock, log } = this.options;
    const isStopping = stopping?.aborted ?? false;
    try {
      return await retry(work, {
        clock,
        backoff: new Backoff({ minMs: 250, maxMs: 10_000 }),
        ...(isStopping || !stopping ? { deadlineMs: GIVE_UP_MS } : { signal: stopping }),
        onRetry: (error) =>
          log.error("cannot record the end of a training job; retrying", {
            event: "training_failed",
            error: String(error),
          }),
      });
    } catch (error) {
      log.error("cannot record the end of a training job; the next start of the cloud does", {
        event: "training_failed",
        error: String(error),
      });
      return undefined;
    }
  }
}

/** The line is there before the state is: who waits for the end has read everything then. */
async function say(
  output: JobOutput,
  level: "info" | "warn" | "error",
  message: string,
): Promise<void> {
  output.line(level, message);
  await output.flush();
}
