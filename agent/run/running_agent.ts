import type { SelfProgram } from "../service/self_program.ts";
import type { AgentControl, Health } from "../updates/updater/control.ts";
import type { AgentHealth } from "./agent_health.ts";
import type { AgentShutdown } from "./agent_shutdown.ts";

export interface RunningAgentOptions {
  /** The program that this process runs. */
  readonly self: SelfProgram;
  readonly version: string;
  readonly health: Pick<AgentHealth, "healthy" | "reachesCloud">;
  readonly shutdown: Pick<AgentShutdown, "restart">;
}

/** This agent as its own updates see it. */
export class RunningAgent implements AgentControl {
  constructor(private readonly options: RunningAgentOptions) {}

  get runningPath(): string | undefined {
    return this.options.self.path;
  }

  get version(): string {
    return this.options.version;
  }

  get problem(): string | undefined {
    return this.options.self.problem;
  }

  healthy(cloudBefore: boolean): Health {
    return this.options.health.healthy(cloudBefore);
  }

  reachesCloud(): boolean {
    return this.options.health.reachesCloud();
  }

  restart(reason: string): void {
    this.options.shutdown.restart(reason);
  }
}
