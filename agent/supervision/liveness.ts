import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";
import type { AskRestartStatus } from "./restart_status.ts";
import type { Running, ServerState } from "./state_machine.ts";
import type { ServerSupervisor } from "./supervisor.ts";

export interface LivenessOptions {
  readonly supervisor: ServerSupervisor;
  readonly ask: AskRestartStatus;
  readonly clock: Clock;
  readonly log: Logger;
}

const ASK_EVERY_MS = 10_000;
/** A server that gives no answer so many times in a row hangs. */
const MISSES_BEFORE_END = 3;

export const isRunning = (state: ServerState): state is Running => state.kind === "running";

/** Asks the running server every 10 s whether it is there; one that hangs is ended. */
export async function watchLiveness(options: LivenessOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await options.supervisor.state.until(isRunning, signal);
    await watchRun(options, signal);
  }
}

/** Watches one run of the server to its end. */
async function watchRun(
  { supervisor, ask, clock, log }: LivenessOptions,
  signal: AbortSignal,
): Promise<void> {
  const { launched } = supervisor;
  let misses = 0;
  let waitMs = ASK_EVERY_MS;
  while (true) {
    await clock.sleep(waitMs, signal);
    const state = supervisor.state.value;
    if (supervisor.launched !== launched || !isRunning(state)) return;
    const askedMs = clock.monotonicMs();
    const status = await ask(state.urls);
    if (supervisor.launched !== launched) return;
    misses = status.kind === "answer" ? 0 : misses + 1;
    if (status.kind === "no-answer") {
      log.warn("machine-server gives no answer", { reason: status.reason, times: misses });
    }
    if (misses === MISSES_BEFORE_END) return supervisor.tell({ type: "unresponsive" });
    waitMs = Math.max(0, ASK_EVERY_MS - (clock.monotonicMs() - askedMs));
  }
}
