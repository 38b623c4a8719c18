import type { Logger } from "../../../shared/log/logger.ts";
import type { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { DAY_MS } from "./log_days.ts";
import type { LogStore } from "./log_store.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** How long log lines are kept, by when they were received. */
export const LOG_RETENTION_DAYS = 30;

const EVERY_MS = 10 * 60_000;
const FIRST_AFTER_MS = 30_000;

/** Deletes old lines every ten minutes until the signal aborts. */
export async function keepLogsForRetention(
  store: LogStore,
  { cautious, strict }: Pick<SteadyTime, "cautious" | "strict">,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const turn = async () => {
    const before = new Date(cautious.now().getTime() - LOG_RETENTION_DAYS * DAY_MS);
    const ahead = new Date(strict.now().getTime() + DAY_MS);
    const deleted = await store.deleteReceivedBefore(before, { ahead, signal });
    if (deleted > 0) log.debug("deleted old log lines", { deleted, before: before.toJSON() });
  };
  const onFailure = (error: unknown) =>
    log.error("cannot delete old log lines; retrying later", {
      event: "cleanup_failed",
      error: String(error),
    });
  const waits = { clock: cautious, intervalMs: EVERY_MS, firstMs: FIRST_AFTER_MS, onFailure };
  await pollLoop(turn, waits, signal);
}
