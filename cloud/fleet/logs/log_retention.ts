import type { Logger } from "../../../shared/log/logger.ts";
import type { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import type { LogStore } from "./log_store.ts";

/** How long log lines are kept, by when they were received. */
export const LOG_RETENTION_DAYS = 30;

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 10 * 60_000;
const FIRST_AFTER_MS = 30_000;

/** Deletes old lines every ten minutes until the signal aborts. */
export async function keepLogsForRetention(
  store: LogStore,
  { cautious, strict }: Pick<SteadyTime, "cautious" | "strict">,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let waitMs = FIRST_AFTER_MS;
  while (!signal.aborted) {
    try {
      await cautious.sleep(waitMs, signal);
      const before = new Date(cautious.now().getTime() - LOG_RETENTION_DAYS * DAY_MS);
      const ahead = new Date(strict.now().getTime() + DAY_MS);
      const deleted = await store.deleteReceivedBefore(before, { ahead, signal });
      if (deleted > 0) log.debug("deleted old log lines", { deleted, before: before.toJSON() });
    } catch (error) {
      if (signal.aborted) return;
      log.error("cannot delete old log lines; retrying later", { error: String(error) });
    }
    waitMs = EVERY_MS;
  }
}
