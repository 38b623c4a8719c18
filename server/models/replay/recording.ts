/** One kind of captured data, in the order of its times. */

/** Some data, and where it ends. */
export interface Page<T> {
  readonly items: readonly T[];
  /** What the request for the page after it says; empty after an empty page. */
  readonly last: string;
}

/** All has been played. */
class EndOfRecordingError extends Error {
  override readonly name = "EndOfRecordingError";
  constructor() {
    // The words by which programs of the family know it.
    super("reached end of dataset");
  }
}

/** Plays from the first item on, and fetches a page when the one before is used up. */
export class Recording<T> {
  readonly #fetch: (last: string, signal: AbortSignal) => Promise<Page<T>>;
  #waiting: T[] = [];
  #last = "";
  #turn: Promise<unknown> = Promise.resolve();

  /** @param fetch gives the page after `last`; after the empty text, the first. */
  constructor(fetch: (last: string, signal: AbortSignal) => Promise<Page<T>>) {
    this.#fetch = fetch;
  }

  /**
   * The next item. Calls are served one after the other, so that no item is given twice. After a
   * failed request the next call requests the same page again; after the end it looks for data that
   * has come since.
   *
   * @throws {EndOfRecordingError} when there is none; what the request throws.
   */
  next(signal: AbortSignal): Promise<T> {
    return this.#inTurn(signal, () => {
      const item = this.#waiting.shift();
      if (item === undefined) throw new EndOfRecordingError();
      return item;
    });
  }

  /** The item that {@link next} will give; undefined at the end. */
  peek(signal: AbortSignal): Promise<T | undefined> {
    return this.#inTurn(signal, () => this.#waiting[0]);
  }

  #inTurn<R>(signal: AbortSignal, act: () => R): Promise<R> {
    const mine = this.#turn.then(async () => {
      signal.throwIfAborted();
      await this.#fill(signal);
      return act();
    });
    this.#turn = mine.catch(() => {});
    return mine;
  }

  async #fill(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length > 0) return;
    const { items, last } = await this.#fetch(this.#last, signal);
    this.#waiting = [...items];
    if (last !== "") this.#last = last;
  }
}
