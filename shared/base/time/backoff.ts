/** How long to wait between attempts. */
export interface BackoffOptions {
  /** The first wait, in milliseconds. */
  minMs: number;
  /** No wait is longer than this, in milliseconds. */
  maxMs: number;
  /** Each wait is this many times the one before. Default 2. */
  factor?: number;
  /**
   * Full jitter: each wait is a random part of the computed one, so that many machines that lost
   * the same cloud do not come back at the same moment. Default true.
   */
  jitter?: boolean;
  /** Random numbers in [0, 1). Default `Math.random`. */
  random?: () => number;
}

/** Exponentially growing waits with a cap; {@link Backoff.reset} when the cause is gone. */
export class Backoff {
  readonly #options: Required<BackoffOptions>;
  #attempt = 0;

  constructor(options: BackoffOptions) {
    this.#options = { factor: 2, jitter: true, random: Math.random, ...options };
  }

  /** Milliseconds to wait before the next attempt. */
  next(): number {
    const { minMs, maxMs, factor, jitter, random } = this.#options;
    const ceiling = Math.min(maxMs, minMs * factor ** this.#attempt);
    if (ceiling < maxMs) this.#attempt++;
    return jitter ? ceiling * random() : ceiling;
  }

  /** Starts again at `minMs`. */
  reset(): void {
    this.#attempt = 0;
  }
}
