import { linkedController } from "../../shared/base/time/linked_controller.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { AgentEnd } from "../service/agent_end.ts";

/** The graceful shutdown of this agent, whoever requests it. */
export class AgentShutdown {
  readonly #controller: AbortController;
  #end: AgentEnd = "stop";

  /** @param stop requests it from outside: a signal, the service manager. */
  constructor(stop: AbortSignal, private readonly log: Logger) {
    this.#controller = linkedController(stop);
  }

  /** Aborted when the shutdown begins. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** How the process is to end. */
  get end(): AgentEnd {
    return this.#end;
  }

  /** Exits so that whoever started this process starts the agent that the link leads to now. */
  restart(reason: string): void {
    this.log.info("machine-agent is restarted", { event: "agent_restart", reason });
    this.#end = "update";
    this.begin();
  }

  begin(): void {
    this.#controller.abort();
  }
}
