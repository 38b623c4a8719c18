/** Values a listener may be behind; it loses the oldest beyond that. */
const LONGEST_QUEUE = 1_000;

/** Passes what happens on to all who listen at that time. */
export class Broadcast<T> {
  readonly #listeners = new Set<{ put: (value: T) => void; end: () => void }>();
  #closed = false;

  send(value: T): void {
    for (const { put } of this.#listeners) put(value);
  }

  /** Ends every listener's stream. */
  close(): void {
    this.#closed = true;
    for (const { end } of this.#listeners) end();
  }

  /** What is sent from now on, until the signal aborts. */
  listen(signal: AbortSignal): AsyncIterable<T> {
    const queue: T[] = [];
    let wake = () => {};
    let ended = this.#closed || signal.aborted;
    const listener = {
      put: (value: T) => {
        queue.push(value);
        if (queue.length > LONGEST_QUEUE) queue.shift();
        wake();
      },
      end: () => {
        ended = true;
        wake();
      },
    };
    this.#listeners.add(listener);
    signal.addEventListener("abort", listener.end, { once: true });
    const forget = () => {
      this.#listeners.delete(listener);
      signal.removeEventListener("abort", listener.end);
    };
    return {
      async *[Symbol.asyncIterator]() {
        try {
          for (;;) {
            while (queue.length > 0) yield queue.shift()!;
            if (ended) return;
            await new Promise<void>((resolve) => wake = resolve);
          }
        } finally {
          forget();
        }
      },
    };
  }
}
