/** Keeps what comes in until somebody wants it. */

/** A receiver that can be set late: what came before is delivered, in order, when it is set. */
export class Inbox<T> {
  #waiting: T[] | undefined = [];
  #receive: (item: T) => void = () => {};

  /** Whether there is a receiver. */
  get isRead(): boolean {
    return this.#waiting === undefined;
  }

  get receiver(): (item: T) => void {
    return this.#receive;
  }

  set receiver(receive: (item: T) => void) {
    this.#receive = receive;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const item of waiting) this.#receive(item);
  }

  /** Hands an item to the receiver, or keeps it while there is none. */
  put(item: T): void {
    if (this.#waiting) this.#waiting.push(item);
    else this.#receive(item);
  }
}
