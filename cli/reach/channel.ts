/** Messages from whoever has them to one reader, in order. */
export class MessageChannel<T> implements AsyncIterable<T> {
  readonly #messages: T[] = [];
  #ended = false;
  #wake = () => {};
  #taken = () => {};

  /** How many wait for the reader. */
  get waiting(): number {
    return this.#messages.length;
  }

  push(message: T): void {
    if (this.#ended) return;
    this.#messages.push(message);
    this.#wake();
  }

  /** Resolves when few messages wait, so that what is sent stays bounded. */
  async room(most = 8): Promise<void> {
    while (!this.#ended && this.#messages.length >= most) {
      await new Promise<void>((resolve) => this.#taken = resolve);
    }
  }

  end(): void {
    this.#ended = true;
    this.#wake();
    this.#taken();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const message = this.#messages.shift();
      this.#taken();
      if (message !== undefined) yield message;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
