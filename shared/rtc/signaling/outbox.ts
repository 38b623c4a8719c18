import type { Clock } from "../../base/time/clock.ts";

/** How long to wait for a message. */
export interface OutboxPause {
  readonly clock: Clock;
  readonly ms: number;
}

/** Messages that wait to be sent in a stream; who puts them in bounds their number. */
export class Outbox<T> {
  readonly #messages: T[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake = () => {};

  /** Does nothing after the end. */
  put(message: T): void {
    if (this.#end) return;
    this.#messages.push(message);
    this.#wake();
  }

  /** Nothing comes after what was put in so far; the stream ends with `error`, or well. */
  end(error?: Error): void {
    this.#end ??= { error };
    this.#wake();
  }

  /**
   * The next message; `quiet` when none came within the pause; `end` after the last one.
   *
   * @throws the error that {@link end} was given.
   */
  async next(pause?: OutboxPause): Promise<{ readonly message: T } | "quiet" | "end"> {
    if (this.#messages.length === 0 && !this.#end) {
      await new Promise<void>((resolve) => {
        const timer = pause?.clock.setTimer(pause.ms, resolve);
        this.#wake = () => {
          timer?.cancel();
          resolve();
        };
      });
    }
    const [message] = this.#messages.splice(0, 1);
    if (message !== undefined) return { message };
    if (!this.#end) return "quiet";
    if (this.#end.error) throw this.#end.error;
    return "end";
  }
}
