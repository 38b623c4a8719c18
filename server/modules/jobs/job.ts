/** One job at work. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { JobConfig } from "../../../shared/config/operation.ts";
import { parseSchedule } from "../../../shared/config/schedule.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { aborted } from "../../resources/graph/aborted.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { JobCaller } from "./job_caller.ts";
import type { JobHistory } from "./job_history.ts";
import { createRhythm, type Rhythm, type Turn } from "./rhythm.ts";

/** What a job works with. */
export interface JobOptions {
  readonly clock: Clock;
  readonly call: JobCaller;
  /** The job's own logger. */
  readonly log: Logger;
  readonly history: JobHistory;
  /** A run has been added to the history. */
  readonly onRun: () => void;
}

/**
 * Runs a job by its schedule until the signal aborts, one run at a time. A run that is under way
 * then is aborted and counts neither as failed nor as successful. Never rejects.
 */
export async function runJob(
  config: JobConfig,
  options: JobOptions,
  signal: AbortSignal,
): Promise<void> {
  const { log } = options;
  try {
    const rhythm = await createRhythm(parseSchedule(config.schedule), options.clock);
    await runByRhythm(config, rhythm, options, signal);
  } catch (error) {
    if (signal.aborted) return;
    log.error(`the job cannot run: ${reasonOf(error)}`, {
      event: "job_failed",
      schedule: config.schedule,
    });
    note(options, { failed: true });
  }
}

async function runByRhythm(
  config: JobConfig,
  rhythm: Rhythm,
  options: JobOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options;
  let last: Turn | undefined;
  while (!signal.aborted) {
    await rhythm.next(last, signal);
    const startedMs = clock.monotonicMs();
    const outcome = await runOnce(config, options, signal);
    if (signal.aborted) return;
    last = { startedMs, failed: outcome.failed };
    note(options, last);
  }
}

async function runOnce(
  { resource, method, command }: JobConfig,
  { call, clock, log }: JobOptions,
  signal: AbortSignal,
): Promise<{ failed: boolean }> {
  const startedMs = clock.monotonicMs();
  const took = () => Math.round(clock.monotonicMs() - startedMs);
  log.debug("job starts", { resource, method });
  const run = linkedController(signal);
  try {
    const given = command === undefined ? {} : { command: command as JsonObject };
    const result = await Promise.race([
      call({ resource, method, ...given, signal: run.signal }),
      // What is called may not heed the signal; nobody waits for it then.
      aborted(run.signal),
    ]);
    if (!signal.aborted) log.debug("job done", { resource, method, ms: took(), result });
    return { failed: false };
  } catch (error) {
    if (!signal.aborted) {
      log.warn(`job failed: ${reasonOf(error)}`, {
        event: "job_failed",
        resource,
        method,
        ms: took(),
      });
    }
    return { failed: true };
  } finally {
    run.abort();
  }
}

function note({ history, clock, onRun }: JobOptions, { failed }: { failed: boolean }): void {
  history.add(clock.now(), failed);
  onRun();
}
