import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { ServiceManager } from "./service_manager.ts";

export interface WatchdogOptions {
  readonly manager: ServiceManager;
  /** Which part of the agent does not work any more; undefined while all do. */
  readonly stuck: () => string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** So often within the time that the service manager allows. */
const TIMES = 4;

/**
 * Notifies the service manager again and again that the agent is alive, as long as it is: this loop
 * stands still when the process does, and it falls silent when a worker is stuck. The service
 * manager then ends the agent and restarts it.
 */
export async function tendWatchdog(
  { manager, stuck, clock, log }: WatchdogOptions,
  signal: AbortSignal,
): Promise<void> {
  const { watchdogMs } = manager;
  if (watchdogMs === undefined) return await untilAborted(signal);
  let said: string | undefined;
  while (true) {
    const part = stuck();
    if (part === undefined) manager.alive();
    else if (part !== said) {
      log.error(`the agent is about to be killed by its service manager: ${part}`, {
        event: "agent_hung",
      });
      manager.status(part);
    }
    said = part;
    await clock.sleep(watchdogMs / TIMES, signal);
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
