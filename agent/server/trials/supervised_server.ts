import type { Failures, Health, ServerControl } from "../../updates/updater/control.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import type { Watched } from "../../../shared/workers/watched.ts";
import type { CloudReach } from "../../settings/cloud_reach.ts";
import type { MaintenanceWindow } from "../maintenance/maintenance_window.ts";
import type { ServerSupervisor } from "../supervision/supervisor.ts";
import type { WantedServer } from "../supervision/wanted_server.ts";

export interface SupervisedServerOptions {
  readonly supervisor: Pick<ServerSupervisor, "state" | "failures" | "endStray">;
  readonly wanted: Watched<WantedServer>;
  /** Knows what the server answered last. */
  readonly window: Pick<MaintenanceWindow, "current">;
  /** Of this agent: where it does not reach the cloud, the server cannot either. */
  readonly reach: Pick<CloudReach, "reached">;
}

/** The server as the updates exchange it. */
export class SupervisedServer implements ServerControl {
  readonly #options: SupervisedServerOptions;
  #failuresBefore = 0;

  constructor(options: SupervisedServerOptions) {
    this.#options = options;
  }

  async stop(): Promise<void> {
    this.#want(undefined);
    await this.#options.supervisor.endStray();
    const isGone = () => this.#options.supervisor.state.value.kind === "stopped";
    await this.#options.supervisor.state.until(isGone, new AbortController().signal);
  }

  start(version: InstalledVersion): void {
    this.#failuresBefore = this.#options.supervisor.failures.count;
    this.#want(version);
  }

  failures(): Failures {
    const { count, reason } = this.#options.supervisor.failures;
    const since = count - this.#failuresBefore;
    return { count: since, reason: since > 0 ? `machine-server ${reason}` : "" };
  }

  healthy(cloudBefore: boolean): Health {
    const { supervisor, reach } = this.#options;
    const { kind } = supervisor.state.value;
    if (!this.#options.wanted.value.isEnabled) {
      return { is: "not yet", why: "machine-server is disabled", isPaused: true };
    }
    if (kind !== "running") {
      const { count, reason } = this.failures();
      const failed = count > 0 ? `; before that it ${reason.replace(/^machine-server /, "")}` : "";
      const why = `machine-server is ${STATE_WORDS[kind]}${failed}`;
      // A start has a limit of its own, and one that is switched off shows nothing.
      return { is: "not yet", why, isPaused: true };
    }
    const why = this.#silence();
    if (why !== undefined) return { is: "not yet", why };
    if (cloudBefore && !this.reachesCloud()) {
      return {
        is: "not yet",
        why: "the cloud is not reached, and was reached before",
        isPaused: !reach.reached.value,
      };
    }
    return { is: "yes", why: "" };
  }

  reachesCloud(): boolean {
    const { window, reach } = this.#options;
    return window.current()?.cloudReached ?? reach.reached.value;
  }

  /** What keeps the running server from being healthy; undefined when it answers. */
  #silence(): string | undefined {
    const heard = this.#options.window.current();
    if (!heard) return "machine-server was not queried yet";
    return heard.kind === "silent" ? heard.why : undefined;
  }

  #want(version: InstalledVersion | undefined): void {
    const { wanted } = this.#options;
    wanted.value = { ...wanted.value, version };
  }
}

const STATE_WORDS = {
  "stopped": "not running",
  "starting": "starting",
  "stopping": "ending",
  "backing-off": "waiting to be started again",
} as const;
