import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { anyChange, type Watched } from "../workers/watched.ts";
import { isRunning } from "./liveness.ts";
import type { AskRestartStatus } from "./restart_status.ts";
import type { ServerSupervisor } from "./supervisor.ts";
import { restartReason, type WantedServer } from "./wanted_server.ts";

export interface PlannedRestartOptions {
  readonly supervisor: ServerSupervisor;
  readonly wanted: Watched<WantedServer>;
  readonly ask: AskRestartStatus;
  readonly clock: Clock;
  readonly log: Logger;
}

const ASK_AGAIN_MS = 10_000;

/**
 * Restarts the running server when it is not the wanted one (another version, another
 * environment), as soon as the server says that it may be restarted.
 */
export async function restartWhenAllowed(
  { supervisor, wanted, ask, clock, log }: PlannedRestartOptions,
  signal: AbortSignal,
): Promise<void> {
  let said: string | undefined;
  while (!signal.aborted) {
    const state = await supervisor.state.until(isRunning, signal);
    const { launched } = supervisor;
    const reason = launched && restartReason(launched, wanted.value);
    if (reason === undefined) {
      said = undefined;
      await anyChange([supervisor.state, wanted], signal);
      continue;
    }
    const status = await ask(state.urls);
    signal.throwIfAborted();
    if (supervisor.launched !== launched) continue;
    if (status.kind === "answer" && status.restartAllowed) {
      log.info("machine-server is restarted", { reason });
      supervisor.tell({ type: "restart" });
      continue;
    }
    const why = status.kind === "answer" ? "the server does not allow it now" : status.reason;
    if (said !== reason) log.info("machine-server waits to be restarted", { reason, why });
    said = reason;
    await anyChange([supervisor.state, wanted], signal, { clock, ms: ASK_AGAIN_MS });
  }
}
