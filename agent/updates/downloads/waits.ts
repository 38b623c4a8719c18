import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

const WAIT = { minMs: 2_000, maxMs: 5 * 60_000, jitter: false };

/** When the next attempt of each download may begin; longer after each that brought nothing. */
export class Waits {
  readonly #waits = new Map<string, { readonly backoff: Backoff; untilMs: number }>();

  constructor(private readonly clock: Clock, private readonly random: () => number) {}

  /** Resolves when an attempt may begin. @throws the signal's reason. */
  async wait(key: string, signal: AbortSignal): Promise<void> {
    const leftMs = (this.#waits.get(key)?.untilMs ?? 0) - this.clock.monotonicMs();
    if (leftMs > 0) await this.clock.sleep(leftMs, signal);
  }

  /** An attempt failed. @returns when the next may begin. */
  postpone(key: string): Date {
    const wait = this.#waits.get(key) ?? { backoff: new Backoff(WAIT), untilMs: 0 };
    const waitMs = wait.backoff.next() * (0.5 + 0.5 * this.random());
    wait.untilMs = this.clock.monotonicMs() + waitMs;
    this.#waits.set(key, wait);
    return new Date(this.clock.now().getTime() + waitMs);
  }

  /** Something came: what was waited for is over. */
  forget(key: string): void {
    this.#waits.delete(key);
  }

  forgetAll(): void {
    this.#waits.clear();
  }
}
