import { Code } from "@connectrpc/connect";
import { refusal } from "../reasons.ts";

const SWEEP_EVERY_MS = 1_000;

interface Abortable {
  abort(reason: unknown): void;
}

interface Watched {
  readonly call: Abortable;
  readonly endsAt: number;
  readonly limitMs: number;
}

/**
 * Ends calls that outlive their limit, to about a second. One sweep serves all calls: a timer for
 * each would cost more than a short call does.
 */
export class CallDeadlines {
  readonly #watched = new Set<Watched>();
  #sweeper: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly monotonicMs: () => number = () => performance.now()) {}

  watch(call: Abortable, limitMs: number): { release(): void } {
    const entry: Watched = { call, endsAt: this.monotonicMs() + limitMs, limitMs };
    this.#watched.add(entry);
    this.#sweeper ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS);
    return { release: () => this.#watched.delete(entry) };
  }

  sweep(): void {
    if (this.#watched.size === 0) return this.close();
    const now = this.monotonicMs();
    for (const entry of this.#watched) {
      if (entry.endsAt > now) continue;
      this.#watched.delete(entry);
      const limit = `${entry.limitMs / 1000} s`;
      entry.call.abort(
        refusal("CALL_SLOW", {}, `the call took longer than ${limit}`, Code.DeadlineExceeded),
      );
    }
  }

  close(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}
