/** Whose work runs next: organisations take turns, however much each of them requests. */
import { Code } from "@connectrpc/connect";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface TurnsOptions {
  /** Pieces of work that run at the same moment. */
  readonly mostRunning: number;
  /** Those of one organisation; fewer than all, so that another's need not wait for them. */
  readonly mostRunningOfOne: number;
  /** Those that wait. */
  readonly mostWaiting: number;
  readonly mostWaitingOfOne: number;
}

interface Organisation {
  running: number;
  /** In the order they came. */
  readonly waiting: Set<() => void>;
}

export class Turns {
  /** Those with queries; who has had a turn last comes last. */
  readonly #organisations = new Map<string, Organisation>();
  #running = 0;
  #waiting = 0;

  /** @param what it is that waits, in the plural, for messages. */
  constructor(private readonly options: TurnsOptions, private readonly what: string) {}

  /**
   * Waits for a turn.
   *
   * @returns to be called once, when the work has ended.
   * @throws {ConnectError} RESOURCE_EXHAUSTED when too many wait already.
   * @throws the signal's reason, when it aborts first.
   */
  async take(orgId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const organisation = this.#organisations.get(orgId) ?? { running: 0, waiting: new Set() };
    if (!this.#hasRoom(organisation)) await this.#wait(orgId, organisation, signal);
    else this.#begin(orgId, organisation);
    return () => this.#end(orgId, organisation);
  }

  #hasRoom({ running }: Organisation): boolean {
    return this.#running < this.options.mostRunning && running < this.options.mostRunningOfOne;
  }

  async #wait(orgId: string, organisation: Organisation, signal: AbortSignal): Promise<void> {
    const { mostWaiting, mostWaitingOfOne } = this.options;
    const { waiting } = organisation;
    if (waiting.size >= mostWaitingOfOne || this.#waiting >= mostWaiting) {
      const whose = waiting.size >= mostWaitingOfOne ? " of your organization" : "";
      throw refusal(
        "TRY_LATER",
        {},
        `too many ${this.what}${whose} are waiting; try again in a moment`,
        Code.ResourceExhausted,
      );
    }
    this.#organisations.set(orgId, organisation);
    this.#waiting++;
    await new Promise<void>((resolve, reject) => {
      const done = () => {
        waiting.delete(begin);
        this.#waiting--;
        signal.removeEventListener("abort", leave);
      };
      const begin = () => {
        done();
        this.#begin(orgId, organisation);
        resolve();
      };
      const leave = () => {
        done();
        this.#forget(orgId, organisation);
        reject(signal.reason);
      };
      waiting.add(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #begin(orgId: string, organisation: Organisation): void {
    organisation.running++;
    this.#running++;
    this.#organisations.delete(orgId);
    this.#organisations.set(orgId, organisation);
  }

  #end(orgId: string, organisation: Organisation): void {
    organisation.running--;
    this.#running--;
    this.#forget(orgId, organisation);
    for (const next of this.#organisations.values()) {
      const [begin] = next.waiting;
      if (begin && this.#hasRoom(next)) return begin();
    }
  }

  #forget(orgId: string, { running, waiting }: Organisation): void {
    if (running === 0 && waiting.size === 0) this.#organisations.delete(orgId);
  }
}
