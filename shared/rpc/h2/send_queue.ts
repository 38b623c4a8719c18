/** Bytes of one stream that wait to be sent. */

/** Bytes waiting from which on a sender should wait for {@link SendQueue.drained}. */
const SEND_BUFFER_BYTES = 65_536;

export class SendQueue {
  readonly #waiting: Uint8Array[] = [];
  /** What of the first of them is sent already. */
  #sentOfFirst = 0;
  #bytes = 0;
  #onDrained: (() => void) | undefined;

  /** Bytes that wait. */
  get bytes(): number {
    return this.#bytes;
  }
  /** False when a sender should wait until it is {@link drained}. */
  get roomy(): boolean {
    return this.#bytes < SEND_BUFFER_BYTES;
  }

  /** The bytes must not change any more. */
  push(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#bytes += bytes.length;
  }

  /** Moves the next bytes to `out`; there are as many. */
  take(out: Uint8Array, from: number, size: number): void {
    let at = from;
    const end = from + size;
    while (at < end) {
      const first = this.#waiting[0]!;
      const taken = Math.min(first.length - this.#sentOfFirst, end - at);
      const whole = this.#sentOfFirst === 0 && taken === first.length;
      out.set(whole ? first : first.subarray(this.#sentOfFirst, this.#sentOfFirst + taken), at);
      at += taken;
      this.#sentOfFirst += taken;
      if (this.#sentOfFirst === first.length) {
        this.#waiting.shift();
        this.#sentOfFirst = 0;
      }
    }
    this.#bytes -= size;
    if (this.#onDrained && this.roomy) this.#drain();
  }

  /** Resolves when there is room for more, or nothing more is sent. */
  async drained(): Promise<void> {
    if (!this.roomy) await new Promise<void>((resolve) => this.#onDrained = resolve);
  }

  /** Nothing of it is sent any more. */
  clear(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#drain();
  }

  #drain(): void {
    this.#onDrained?.();
    this.#onDrained = undefined;
  }
}
