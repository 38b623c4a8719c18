import { join } from "node:path";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import type { PackageStore } from "../../registry/packages/package_store.ts";
import type { JobLogs } from "../jobs/job_logs.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { TrainingRunner } from "../runs/runner.ts";
import { JobFolders, TRAINING_FOLDER } from "./job_folder.ts";
import { JobRuns } from "./job_run.ts";
import { RunEnds } from "./run_ends.ts";
import { RunRecords } from "./run_records.ts";
import { ScriptSource } from "./script_source.ts";
import { TrainingQueue } from "./training_queue.ts";
import type { QueueLimits } from "./turns.ts";

export interface OpenTrainingQueueOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  /** The cloud's; runs work in `training` below it. */
  readonly dataDir: string;
  readonly limits: QueueLimits;
  /** Bytes of captured files. */
  readonly files: Pick<BlobStore, "read">;
  /** Bytes of packages. */
  readonly blobs: Pick<BlobStore, "read">;
  readonly packages: Pick<PackageStore, "upload">;
  readonly logs: Pick<JobLogs, "append">;
  /** Loads what runs scripts; called again and again. */
  readonly runner: () => Promise<TrainingRunner>;
  /** Notified of each job that has ended. */
  readonly ended: (job: JobRow) => void;
  readonly publicUrl: () => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The queue with all that takes a job from its start to its end. */
export function openTrainingQueue(options: OpenTrainingQueueOptions): TrainingQueue {
  const { queries, blobs, clock, log } = options;
  const folders = new JobFolders(join(options.dataDir, TRAINING_FOLDER));
  const records = new RunRecords(options);
  const scripts = new ScriptSource(queries, blobs);
  const runs = new JobRuns({ ...options, folders, records, scripts });
  const ends = new RunEnds({ records, folders, clock, log });
  return new TrainingQueue({ ...options, records, runs, ends, folders });
}
