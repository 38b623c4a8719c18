import type { Clock } from "../base/time/clock.ts";
import { linkedController } from "../base/time/linked_controller.ts";

/** A value that others wait on. */
export class Watched<T> {
  #value: T;
  readonly #waiting = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set value(value: T) {
    this.#value = value;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves when the value is set next; rejects with the signal's reason. */
  changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(wake);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Resolves with the value as soon as it is such a one. */
  until<S extends T>(isSuch: (value: T) => value is S, signal: AbortSignal): Promise<S>;
  until(isSuch: (value: T) => boolean, signal: AbortSignal): Promise<T>;
  async until(isSuch: (value: T) => boolean, signal: AbortSignal): Promise<T> {
    while (!isSuch(this.#value)) await this.changed(signal);
    return this.#value;
  }
}

/**
 * Resolves when one of the values is set next, or after `ms` if given; rejects with the signal's
 * reason.
 */
export async function anyChange(
  values: readonly Watched<unknown>[],
  signal: AbortSignal,
  timeout?: { readonly clock: Clock; readonly ms: number },
): Promise<void> {
  const rest = linkedController(signal);
  const waits = values.map((value) => value.changed(rest.signal));
  if (timeout) waits.push(timeout.clock.sleep(timeout.ms, rest.signal));
  try {
    await Promise.race(waits);
  } finally {
    rest.abort();
    await Promise.allSettled(waits);
  }
}
