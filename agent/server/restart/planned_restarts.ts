import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { isRunning, type MaintenanceWindow } from "../maintenance/maintenance_window.ts";
import type { ServerSupervisor } from "../supervision/supervisor.ts";
import {
  type LaunchedServer,
  restartReason,
  type WantedServer,
} from "../supervision/wanted_server.ts";
import { anyChange, Watched } from "../../../shared/workers/watched.ts";

export interface PlannedRestartsOptions {
  readonly supervisor: Pick<ServerSupervisor, "state" | "launched" | "tell">;
  readonly wanted: Watched<WantedServer>;
  readonly window: Pick<MaintenanceWindow, "permission" | "observed">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A restart that is wanted and not allowed yet. */
export interface WaitingRestart {
  /** Why it is wanted. */
  readonly reason: string;
  /** Why it is not allowed. */
  readonly why: string;
  /** Since when it waits. */
  readonly since: Date;
}

interface Request {
  readonly reason: string;
  /** The process that was to be restarted; with any other the restart has happened. */
  readonly launched: LaunchedServer | undefined;
}

const ASK_AGAIN_MS = 10_000;

/**
 * Restarts of the running server that have a reason and no haste: it is done as soon as the
 * maintenance window allows it, and not before, unless an operator forces it.
 */
export class PlannedRestarts {
  /** The restart that waits at this moment. */
  readonly waiting = new Watched<WaitingRestart | undefined>(undefined);
  readonly #options: PlannedRestartsOptions;
  readonly #request = new Watched<Request | undefined>(undefined);

  constructor(options: PlannedRestartsOptions) {
    this.#options = options;
  }

  /** A restart was requested. A server that waits to be started again is started at once. */
  request(reason: string): void {
    const { supervisor, log } = this.#options;
    const { kind } = supervisor.state.value;
    if (kind === "stopped") return log.warn("there is no machine-server to restart", { reason });
    if (kind === "backing-off") return this.#restart(reason);
    this.#request.value = { reason, launched: supervisor.launched };
  }

  /** Restarts now, whatever the maintenance window says. */
  force(reason: string): void {
    this.#request.value = undefined;
    this.#restart(reason);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { supervisor, wanted, window, clock } = this.#options;
    const changes = [supervisor.state, wanted, this.#request, window.observed];
    try {
      while (!signal.aborted) {
        const reason = this.#reason();
        if (reason === undefined) {
          this.#waits(undefined);
          await anyChange(changes, signal);
          continue;
        }
        const { launched } = supervisor;
        const permission = await window.permission();
        signal.throwIfAborted();
        if (supervisor.launched !== launched) continue;
        if (permission.allowed) {
          this.#waits(undefined);
          this.#request.value = undefined;
          this.#restart(reason);
        } else {
          this.#waits({ reason, why: permission.why });
        }
        await anyChange(changes, signal, { clock, ms: ASK_AGAIN_MS });
      }
    } finally {
      this.#waits(undefined);
    }
  }

  /** Why the process that runs must be restarted; undefined when it need not, or cannot be. */
  #reason(): string | undefined {
    const { supervisor, wanted } = this.#options;
    const { launched } = supervisor;
    const request = this.#request.value;
    if (request && request.launched !== launched) this.#request.value = undefined;
    if (!launched || !isRunning(supervisor.state.value)) return undefined;
    return this.#request.value?.reason ?? restartReason(launched, wanted.value);
  }

  #restart(reason: string): void {
    const { supervisor, log } = this.#options;
    log.info("machine-server is restarted", { event: "server_restart", reason });
    supervisor.tell({ type: "restart" });
  }

  #waits(now: { reason: string; why: string } | undefined): void {
    const before = this.waiting.value;
    if (before?.reason === now?.reason && before?.why === now?.why) return;
    const { clock, log } = this.#options;
    if (!now) return void (this.waiting.value = undefined);
    const since = before?.reason === now.reason ? before.since : clock.now();
    log.info("machine-server waits to be restarted", { event: "server_restart_postponed", ...now });
    this.waiting.value = { ...now, since };
  }
}
