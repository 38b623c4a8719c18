import type { Clock } from "../../shared/base/time/clock.ts";
import { linkedController } from "../../shared/base/time/linked_controller.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { LeadershipLostError, runInTerm } from "../storage/database/leader_term.ts";

/** Work that one node does for all. */
export interface Leadership {
  readonly isLeader: boolean;

  /**
   * Does the work whenever this node leads, until the signal aborts. The signal of the work aborts
   * when another node is to lead; a transaction of the work that comes later is refused, with
   * {@link LeadershipLostError}. Work that fails is begun again.
   *
   * What others cause in it, by calling a method of an object that the work uses, does not know
   * the term: let them wake the work and no more.
   *
   * @returns when the signal has aborted and the work has ended
   */
  run(work: (signal: AbortSignal) => Promise<unknown>, signal: AbortSignal): Promise<void>;
}

/** A node that is alone leads. */
export const ALWAYS_LEADER: Leadership = {
  isLeader: true,
  async run(work, signal) {
    await work(signal);
  },
};

const TRY_AGAIN_MS = 1_000;

/** The terms in which this node leads. */
export class Terms implements Leadership {
  #term: { readonly number: number; readonly ending: AbortController } | undefined;
  #begun = Promise.withResolvers<void>();

  constructor(private readonly clock: Clock, private readonly log: Logger) {}

  get isLeader(): boolean {
    return this.#term !== undefined;
  }

  begin(number: number): void {
    this.end();
    this.#term = { number, ending: new AbortController() };
    this.#begun.resolve();
    this.log.info("this node leads", { event: "leader_begun", term: number });
  }

  end(): void {
    if (!this.#term) return;
    const { number, ending } = this.#term;
    this.#term = undefined;
    this.#begun = Promise.withResolvers();
    this.log.info("this node does not lead any more", { event: "leader_over", term: number });
    ending.abort();
  }

  async run(
    work: (signal: AbortSignal) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const stopped = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => stopped.resolve(), { once: true });
    while (!signal.aborted) {
      const term = this.#term;
      if (!term) {
        await Promise.race([this.#begun.promise, stopped.promise]);
        continue;
      }
      const during = linkedController(signal);
      const end = () => during.abort();
      term.ending.signal.addEventListener("abort", end, { once: true });
      if (term.ending.signal.aborted) end();
      try {
        await runInTerm(term.number, () => work(during.signal));
      } catch (error) {
        if (!during.signal.aborted && !(error instanceof LeadershipLostError)) {
          this.log.error("work of the leader failed; it is begun again", {
            event: "leader_work_failed",
            error: String(error),
          });
        }
      }
      // Work that ended early is begun again in this term, and not at once.
      await this.clock.sleep(TRY_AGAIN_MS, during.signal).catch(() => undefined);
      term.ending.signal.removeEventListener("abort", end);
      during.abort();
    }
  }
}
