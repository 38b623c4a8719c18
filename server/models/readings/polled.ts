/** Something that is queried again at most so often, and once for all who ask at the same time. */
import type { Clock } from "../../../shared/base/time/clock.ts";

export interface PolledOptions<T> {
  clock: Clock;
  /** An answer (or failure) younger than this is given out again. Milliseconds; 0: never. */
  intervalMs: number;
  /** Asks. The signal aborts when nobody waits any more, or at the close. */
  ask: (signal: AbortSignal) => Promise<T>;
}

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
  #closed = false;

  constructor(options: PolledOptions<T>) {
    this.#options = options;
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
    const settle = () => {
      this.#active.delete(run);
      if (this.#current === run) this.#current = undefined;
      if (controller.signal.aborted) return;
      this.#last = { atMs: this.#options.clock.monotonicMs(), answer: run.answer };
    };
    run.answer.then(settle, settle);
    return run;
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
