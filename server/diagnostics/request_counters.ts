/** Counts calls by method, for capture and metrics. */
import type { Interceptor } from "../../shared/rpc/server/interceptor.ts";

/** What has been counted of one method since the start. */
export interface MethodCount {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Calls that have ended. */
  ended: number;
  /** Of those, the ones that failed. */
  failed: number;
  /** Calls being answered now. */
  running: number;
  /** Sum over the calls that have ended. Milliseconds. */
  totalMs: number;
}

/** More methods than this are counted as one. Modules bring APIs of their own. */
const MAX_METHODS = 1_000;

export class RequestCounters {
  readonly #methods = new Map<string, MethodCount>();

  /** Costs a map look-up at the begin and at the end of a call. */
  readonly interceptor: Interceptor = {
    before: (call) => void this.#of(call.path).running++,
    after: (call, { code, durationMs }) => {
      const count = this.#of(call.path);
      count.running--;
      count.ended++;
      count.totalMs += durationMs;
      if (code !== undefined) count.failed++;
    },
  };

  /** The methods that have been called, in the order of their first call. */
  methods(): Iterable<Readonly<MethodCount>> {
    return this.#methods.values();
  }

  #of(path: string): MethodCount {
    const known = this.#methods.get(path);
    if (known) return known;
    const key = this.#methods.size < MAX_METHODS ? path : "other";
    const count = this.#methods.get(key) ??
      { path: key, ended: 0, failed: 0, running: 0, totalMs: 0 };
    this.#methods.set(key, count);
    return count;
  }
}
