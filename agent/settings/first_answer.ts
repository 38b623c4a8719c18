import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { withDeadline } from "../../shared/time/deadline.ts";
import { WaitTimeoutError } from "../../shared/time/wait_for.ts";
import type { Watched } from "../workers/watched.ts";

export interface FirstAnswerOptions {
  /** True once the cloud has answered. */
  readonly answered: Watched<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The machine must start without a cloud, too. */
const LONGEST_WAIT_MS = 60_000;

/** Waits for the cloud's first answer in this run, at most a minute. */
export async function waitForFirstAnswer(
  { answered, clock, log }: FirstAnswerOptions,
  signal: AbortSignal,
): Promise<void> {
  log.info("waits for the cloud's settings before the server is started");
  const isAnswered = (inner: AbortSignal) => answered.until((value) => value, inner);
  const what = "the cloud's answer";
  try {
    await withDeadline(isAnswered, { clock, deadlineMs: LONGEST_WAIT_MS, what, signal });
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error;
    log.warn("the cloud did not answer in time; the server is started with the last settings");
  }
}
