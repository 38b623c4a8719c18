import type { Clock } from "../../../shared/base/time/clock.ts";

/** So long others wait at most. Milliseconds. */
const SLICE_MS = 8;

/** Cuts long work into slices, so that other calls are answered in between. */
export class Slices {
  readonly #endMs: number;
  #sinceMs: number;

  /** @param limitMs how long the work may take in all, what others take in between included. */
  constructor(private readonly clock: Clock, limitMs: number) {
    this.#sinceMs = clock.monotonicMs();
    this.#endMs = this.#sinceMs + limitMs;
  }

  /** True when the deadline is exceeded. */
  get isOver(): boolean {
    return this.clock.monotonicMs() >= this.#endMs;
  }

  /** True when it is time for {@link pause}, which need not be awaited before. */
  get isDue(): boolean {
    return this.clock.monotonicMs() - this.#sinceMs >= SLICE_MS;
  }

  /** Called often: gives way once a slice is over. @throws what the signal aborts with. */
  async pause(signal: AbortSignal): Promise<void> {
    if (!this.isDue) return;
    await this.clock.sleep(0, signal);
    signal.throwIfAborted();
    this.#sinceMs = this.clock.monotonicMs();
  }
}
