import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { type JobLogs, TRAINING_LOG_RETENTION_DAYS } from "./job_logs.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface TrainingUpkeepOptions {
  readonly logs: JobLogs;
  readonly clock: Clock;
  readonly log: Logger;
}

const EVERY_MS = 10 * 60_000;

/** Deletes what jobs printed when they ended too long ago. The jobs themselves stay. */
export class TrainingUpkeep {
  constructor(private readonly options: TrainingUpkeepOptions) {}

  /** Looks at the start and then every ten minutes until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    const { logs, clock, log } = this.options;
    const turn = async () => {
      const jobs = await logs.deleteOld(clock.now(), signal);
      const days = TRAINING_LOG_RETENTION_DAYS;
      if (jobs > 0) log.info("deleted the logs of old training jobs", { jobs, days });
    };
    const onFailure = (error: unknown) =>
      log.error("cannot delete old training logs; retrying", {
        event: "cleanup_failed",
        error: String(error),
      });
    await pollLoop(turn, { clock, intervalMs: EVERY_MS, onFailure }, signal);
  }
}
