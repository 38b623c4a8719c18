import type { CancelSignal } from "./call_channel.ts";

/** What cancels a call. An `AbortController` costs more than passing the call on. */
export class CancelSource implements CancelSignal {
  #aborted: { readonly reason: unknown } | undefined;
  #listeners: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  get reason(): unknown {
    return this.#aborted?.reason;
  }

  /** Cancels it; the first reason counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    (this.#listeners ??= new Set()).add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }
}
