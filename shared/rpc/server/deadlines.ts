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
  readonly #sweeper: ReturnType<typeof setInterval>;

  constructor(private readonly monotonicMs: () => number = () => performance.now()) {
    this.#sweeper = setInterval(() => this.sweep(), SWEEP_EVERY_MS);
  }

  watch(call: Abortable, limitMs: number): { release(): void } {
    const entry: Watched = { call, endsAt: this.monotonicMs() + limitMs, limitMs };
    this.#watched.add(entry);
    return { release: () => this.#watched.delete(entry) };
  }

  sweep(): void {
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
  }
}
