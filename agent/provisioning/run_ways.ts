import { toError } from "../../shared/base/errors/to_error.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { MakeWay, ProvisioningSite, ProvisioningWay, WayDeps } from "./provisioning_way.ts";

const RETRY_MS = 5_000;

export interface WayRunnerOptions {
  readonly ways: readonly MakeWay[];
  readonly deps: WayDeps;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Lets ways to provision serve for a while. One that fails keeps no other from its work. */
export class WayRunner {
  readonly #options: WayRunnerOptions;
  #made: Promise<readonly ProvisioningWay[]> | undefined;

  constructor(options: WayRunnerOptions) {
    this.#options = options;
  }

  /**
   * Begins all ways of a kind, and ends them when the signal is aborted.
   *
   * @returns resolves when all have ended; never rejects.
   */
  async run(over: ProvisioningWay["over"], site: ProvisioningSite, signal: AbortSignal) {
    this.#made ??= this.#make();
    const ways = await this.#made;
    await Promise.all(
      ways.filter((way) => way.over === over).map((way) => this.#keep(way, site, signal)),
    );
  }

  async #make(): Promise<ProvisioningWay[]> {
    const { ways, deps, log } = this.#options;
    const made: ProvisioningWay[] = [];
    for (const make of ways) {
      try {
        made.push(await make(deps));
      } catch (error) {
        log.error("a way to provision cannot be loaded", { event: "provisioning_failed", error });
      }
    }
    return made;
  }

  async #keep(way: ProvisioningWay, site: ProvisioningSite, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let told = "";
    while (!signal.aborted) {
      try {
        const running = await way.start(site);
        log.info("a way to provision begins", { way: way.name });
        await aborted(signal);
        await running[Symbol.asyncDispose]();
        return;
      } catch (error) {
        const reason = toError(error).message;
        if (reason !== told) {
          log.warn("a way to provision fails", {
            event: "provisioning_failed",
            way: way.name,
            reason,
          });
        }
        told = reason;
      }
      await clock.sleep(RETRY_MS, signal).catch(() => {});
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true })
  );
}
