/** Looks at the network while the server runs, and logs what changes. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { type Finding, judge } from "./finding.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** From one check to the next. Milliseconds. */
const INTERVAL_MS = 5 * 60_000;

export interface NetworkWatchOptions {
  /** `full` once at the start, `brief` after that. */
  check: (scope: "full" | "brief", signal: AbortSignal) => Promise<readonly Finding[]>;
  clock: Clock;
  /** `rdk.network-checks` */
  log: Logger;
}

/** A check that fails is logged when it begins to fail, and when it is well again. */
export class NetworkWatch {
  readonly #failing = new Set<string>();
  #offline = false;

  constructor(private readonly options: NetworkWatchOptions) {}

  /** Checks until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, check, log } = this.options;
    let scope: "full" | "brief" = "full";
    const turn = async () => {
      const now = scope;
      scope = "brief";
      this.#tell(await check(now, signal));
    };
    const onFailure = (error: unknown) =>
      log.error(`the network could not be checked: ${toError(error).message}`, {
        event: "network_check_failed",
      });
    await pollLoop(turn, { clock, intervalMs: INTERVAL_MS, onFailure }, signal);
  }

  #tell(findings: readonly Finding[]): void {
    const { log } = this.options;
    const tried = findings.filter(({ outcome }) => outcome !== "skipped");
    const offline = tried.length > 0 && tried.every(({ outcome }) => outcome === "failed");
    // One line in place of one for each.
    if (offline !== this.#offline) {
      this.#offline = offline;
      if (offline) {
        log.warn(judge(findings).text, { event: "network_check_failed", checks: tried.length });
      } else log.info("the network answers again");
    }
    if (offline) return;
    for (const { subject, what, outcome, detail } of tried) {
      const key = `${subject} ${what}`;
      if (outcome === "failed" && !this.#failing.has(key)) {
        this.#failing.add(key);
        log.warn(`network check failed: ${key}`, { event: "network_check_failed", reason: detail });
      } else if (outcome !== "failed" && this.#failing.delete(key)) {
        log.info(`network check is well again: ${key}`, { detail });
      }
    }
  }
}
