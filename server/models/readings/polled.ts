/** Something that is queried again at most so often, and once for all who ask at the same time. */
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";

export interface PolledOptions<T> {
  clock: Clock;
  /** An answer (or failure) younger than this is given out again. Milliseconds; 0: never. */
  intervalMs: number;
  /** Asks. The signal aborts when nobody waits any more, or at the close. */
  ask: (signal: AbortSignal) => Promise<T>;
  /**
   * What failed is asked again after so long, until it answers: so that a problem ends also when
   * nobody reads. Milliseconds; left out: never.
   */
  againMs?: number;
}

/** Who leaves after so long may have left because there was no answer. Milliseconds. */
const LONG_MS = 1_000;

interface Run<T> {
  readonly controller: AbortController;
  readonly answer: Promise<T>;
  waiting: number;
}

/** See {@link PolledOptions}. */
export class Polled<T> {
  readonly #options: PolledOptions<T>;
  #current: Run<T> | undefined;
  #last: { readonly atMs: number; readonly answer: Promise<T> } | undefined;
  readonly #active = new Set<Run<T>>();
  #problem: string | undefined;
  #again: Timer | undefined;
  #closed = false;

  constructor(options: PolledOptions<T>) {
    this.#options = options;
  }

  /** Why there was no answer the last time; undefined when there was one. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * The answer, old enough ones asked again.
   *
   * @throws what asking threw; the signal's reason when it aborts first.
   */
  read(signal: AbortSignal): Promise<T> {
    if (this.#closed) return Promise.reject(new Error("it is closed"));
    if (signal.aborted) return Promise.reject(signal.reason);
    const { clock, intervalMs } = this.#options;
    if (this.#last && clock.monotonicMs() - this.#last.atMs < intervalMs) return this.#last.answer;
    this.#current ??= this.#start();
    return this.#join(this.#current, signal);
  }

  /** Breaks off what is being asked; resolves when it has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#again?.cancel();
    const active = [...this.#active];
    for (const run of active) run.controller.abort(new Error("the resource was closed"));
    await Promise.allSettled(active.map((run) => run.answer));
  }

  #start(): Run<T> {
    const controller = new AbortController();
    const run: Run<T> = {
      controller,
      answer: this.#options.ask(controller.signal),
      waiting: 0,
    };
    this.#active.add(run);
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    const settle = (problem: string | undefined) => {
      this.#active.delete(run);
      if (this.#current === run) this.#current = undefined;
      if (controller.signal.aborted) {
        if (clock.monotonicMs() - startMs >= LONG_MS) this.#askAgain();
        return;
      }
      this.#last = { atMs: clock.monotonicMs(), answer: run.answer };
      this.#problem = problem;
      if (problem !== undefined) return this.#askAgain();
      this.#again?.cancel();
      this.#again = undefined;
    };
    run.answer.then(() => settle(undefined), (error) => settle(reasonOf(error)));
    return run;
  }

  #askAgain(): void {
    const { clock, againMs, intervalMs } = this.#options;
    if (againMs === undefined || this.#closed) return;
    this.#again ??= clock.setTimer(Math.max(againMs, intervalMs), () => {
      this.#again = undefined;
      this.#current ??= this.#start();
    });
  }

  #join(run: Run<T>, signal: AbortSignal): Promise<T> {
    run.waiting++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(signal.reason);
        if (--run.waiting > 0) return;
        if (this.#current === run) this.#current = undefined;
        run.controller.abort(new Error("nobody waits for the answer any more"));
      };
      signal.addEventListener("abort", leave, { once: true });
      run.answer.finally(() => signal.removeEventListener("abort", leave)).then(resolve, reject);
    });
  }
}
