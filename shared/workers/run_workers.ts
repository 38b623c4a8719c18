import type { Logger } from "../log/logger.ts";
import { Backoff } from "../base/time/backoff.ts";
import type { Clock } from "../base/time/clock.ts";
import type { WorkerHealth } from "./worker_health.ts";

/**
 * A loop of a program. It ends when the signal is aborted; one that ends before is started again,
 * unless it returns `"done"`.
 */
export interface Worker {
  readonly name: string;
  run(signal: AbortSignal): Promise<void | "done">;
}

export interface RunWorkersOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
  /** Notified how each worker goes. */
  readonly health?: Pick<WorkerHealth, "started" | "failed">;
}

const RESTART_MIN_MS = 1_000;
const RESTART_MAX_MS = 60_000;

/**
 * Runs workers in parallel until the signal is aborted and all have ended. One that fails
 * is logged and started again; the others do not notice.
 */
export async function runWorkers(
  workers: readonly Worker[],
  options: RunWorkersOptions,
): Promise<void> {
  await Promise.all(workers.map((worker) => keepRunning(worker, options)));
}

async function keepRunning(
  worker: Worker,
  { signal, clock, log, health }: RunWorkersOptions,
): Promise<void> {
  const backoff = new Backoff({ minMs: RESTART_MIN_MS, maxMs: RESTART_MAX_MS });
  while (!signal.aborted) {
    const startedMs = clock.monotonicMs();
    health?.started(worker.name);
    try {
      if (await worker.run(signal) === "done") return;
    } catch (error) {
      if (signal.aborted) return;
      health?.failed(worker.name, error);
      log.error(`the ${worker.name} worker failed and is restarted`, {
        event: "worker_failed",
        worker: worker.name,
        error,
      });
    }
    if (clock.monotonicMs() - startedMs > RESTART_MAX_MS) backoff.reset();
    await clock.sleep(backoff.next(), signal).catch(() => {});
  }
}
