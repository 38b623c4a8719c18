import type { Clock, Timer } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { ProvisioningPort } from "./provisioning_port.ts";

/** The answer to who requested it must be out before the hotspot is gone. */
const DELAY_MS = 1_000;

/** {@link ProvisioningPort.commit} after the answer to whoever requested it. */
export class DelayedCommit implements Disposable {
  #timer: Timer | undefined;

  constructor(
    private readonly port: Pick<ProvisioningPort, "commit">,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** It was requested, and has not come yet. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /** Commits in a second; once, however often it is requested until then. */
  schedule(): void {
    this.#timer ??= this.clock.setTimer(DELAY_MS, () => {
      this.#timer = undefined;
      try {
        this.port.commit();
      } catch (error) {
        this.log.error("what a person gave could not be tried", {
          event: "provisioning_failed",
          error,
        });
      }
    });
  }

  /** Provisioning ends for another reason: nothing is committed any more. */
  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
