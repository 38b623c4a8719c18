import type { Logger } from "../../shared/log/logger.ts";
import {
  FAILURES_BEFORE_LEAVE,
  type MaintenanceWindow,
} from "../server/maintenance/maintenance_window.ts";
import type { AgentState } from "../state/agent_state.ts";
import type { ServerSupervisor } from "../server/supervision/supervisor.ts";
import { anyChange } from "../../shared/workers/watched.ts";

export interface RememberServedOptions {
  readonly window: Pick<MaintenanceWindow, "observed" | "current">;
  readonly supervisor: Pick<ServerSupervisor, "state">;
  readonly state: Pick<AgentState, "serverServed" | "saveServerServed">;
  readonly log: Logger;
}

/** Keeps on disk whether the server serves, for the agent that comes after this one. */
export async function rememberServed(
  { window, supervisor, state, log }: RememberServedOptions,
  signal: AbortSignal,
): Promise<void> {
  let kept = state.serverServed();
  while (true) {
    const status = supervisor.state.value;
    const heard = window.current();
    const hasFailed = "failures" in status && status.failures >= FAILURES_BEFORE_LEAVE;
    const serves = heard && heard.kind !== "silent" ? true : hasFailed ? false : kept;
    if (serves !== kept) {
      kept = serves;
      try {
        state.saveServerServed(serves);
      } catch (error) {
        log.warn("whether the server serves cannot be kept on disk", { error });
      }
    }
    await anyChange([window.observed, supervisor.state], signal);
  }
}
