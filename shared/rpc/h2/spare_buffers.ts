const MOST_UNUSED = 64;

/** Buffers of one size that no connection needs now; those of other sizes are not kept. */
export class SpareBuffers {
  readonly #unused: Uint8Array[] = [];

  constructor(private readonly bytes: number) {}

  /** A buffer with this many bytes, whatever was in it before. Default: the size that is kept. */
  take(bytes = this.bytes): Uint8Array {
    return bytes === this.bytes && this.#unused.pop() || new Uint8Array(bytes);
  }

  /** Whoever gives it back has no view of it any more. */
  giveBack(buffer: Uint8Array): void {
    if (buffer.length === this.bytes && this.#unused.length < MOST_UNUSED) {
      this.#unused.push(buffer);
    }
  }
}
