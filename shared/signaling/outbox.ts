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
   * The next message; `quiet` when `pause` resolved first; `end` after the last one.
   *
   * @throws the error that {@link end} was given.
   */
  async next(pause?: Promise<unknown>): Promise<{ readonly message: T } | "quiet" | "end"> {
    if (this.#messages.length === 0 && !this.#end) {
      const woken = new Promise<void>((resolve) => this.#wake = resolve);
      await (pause ? Promise.race([woken, pause]) : woken);
    }
    const [message] = this.#messages.splice(0, 1);
    if (message !== undefined) return { message };
    if (!this.#end) return "quiet";
    if (this.#end.error) throw this.#end.error;
    return "end";
  }
}
