import type { Failures, Health } from "../updates/updater/control.ts";
import type { Watched } from "../../shared/workers/watched.ts";
import type { WorkerHealth } from "../../shared/workers/worker_health.ts";
import type { WantedServer } from "../server/supervision/wanted_server.ts";
import type { CloudReach } from "../settings/cloud_reach.ts";

export interface AgentHealthOptions {
  readonly workers: Pick<WorkerHealth, "failing">;
  readonly reach: Pick<CloudReach, "reached">;
  /** The server's own health. */
  readonly server: {
    healthy(cloudBefore: boolean): Health;
    failures(): Failures;
  };
  /** Whether the server shall run. */
  readonly wanted: Watched<Pick<WantedServer, "isEnabled">>;
  /** Whether the server served under the agent before this one. */
  readonly servedBefore: boolean;
}

/** A server that served before fails so often only because of this agent. */
const SERVER_FAILURES = 3;
/** Without these workers the machine is on its own. */
const VITAL: ReadonlySet<string> = new Set(["supervision", "settings"]);
/** A worker that fails for so long is not fixed by starting it alone again. */
const STUCK_MS = 5 * 60_000;

/** Whether this agent does its work; its own updates and the watchdog ask. */
export class AgentHealth {
  readonly #options: AgentHealthOptions;

  constructor(options: AgentHealthOptions) {
    this.#options = options;
  }

  /** For the trial of a new version: a good agent has the server serve, when the last one did. */
  healthy(cloudBefore: boolean): Health {
    const { workers, wanted, servedBefore } = this.#options;
    const [failing] = workers.failing();
    if (failing) return { is: "not yet", why: failing.reason };
    if (cloudBefore && !this.reachesCloud()) {
      return { is: "not yet", why: "the cloud is not reached, and was reached before" };
    }
    return servedBefore && wanted.value.isEnabled ? this.#serverHealth() : { is: "yes", why: "" };
  }

  reachesCloud(): boolean {
    return this.#options.reach.reached.value;
  }

  /** What only a new process can fix; undefined while all is well. */
  stuck(): string | undefined {
    return this.#options.workers.failing()
      .find(({ name, forMs }) => VITAL.has(name) && forMs >= STUCK_MS)?.reason;
  }

  #serverHealth(): Health {
    const { server } = this.#options;
    const { count, reason } = server.failures();
    if (count >= SERVER_FAILURES) {
      return { is: "no", why: `machine-server served before and does not now: ${reason}` };
    }
    return server.healthy(false);
  }
}
