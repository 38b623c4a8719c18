import type { Logger } from "../../../shared/log/logger.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import type { SystemOutcome, SystemPart, SystemReport } from "./system_outcome.ts";

const NOT_YET: SystemOutcome = { state: "untouched", text: "not checked yet" };

/** How the configuration of the operating system stands; what changes is logged once. */
export class SystemStatus {
  /** Set again at each change. */
  readonly report = new Watched<SystemReport>({
    journald: NOT_YET,
    upgrades: NOT_YET,
    log_forwarding: NOT_YET,
  });
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  tell(part: SystemPart, outcome: SystemOutcome): void {
    const before = this.report.value[part];
    if (before.state === outcome.state && before.text === outcome.text) return;
    this.report.value = { ...this.report.value, [part]: outcome };
    const { state, text } = outcome;
    if (state === "failed") this.#log.error(text, { event: "system_setting_failed" });
    else if (state === "no-effect") this.#log.warn(text);
    else if (state === "untouched") this.#log.debug(text);
    else this.#log.info(text);
  }

  /**
   * What is not as the settings specify, one sentence each; a reason of several parts comes once.
   */
  problems(): string[] {
    const outcomes = Object.values(this.report.value);
    const failed = outcomes.filter(({ state }) => state === "failed" || state === "no-effect");
    return [...new Set(failed.map(({ text }) => text))];
  }
}
