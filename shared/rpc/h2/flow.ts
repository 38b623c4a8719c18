/** Flow control (RFC 9113, section 5.2): how much either side may send. Pure. */
import { MAX_31_BITS } from "./frames.ts";

/** What every window is before either side has said otherwise. */
export const DEFAULT_WINDOW = 65_535;

/** How many bytes may still be sent. A change of the peer's settings can make it negative. */
export class SendWindow {
  constructor(public left: number = DEFAULT_WINDOW) {}

  /** Bytes that may be sent now. */
  get room(): number {
    return Math.max(0, this.left);
  }

  spend(bytes: number): void {
    this.left -= bytes;
  }

  /** @returns false when the window would be larger than the protocol allows. */
  grow(bytes: number): boolean {
    this.left += bytes;
    return this.left <= MAX_31_BITS;
  }
}

/** How many bytes the peer may still send, and when to notify it that it may send more. */
export class ReceiveWindow {
  #left: number;
  #unannounced = 0;

  /** @param size bytes on the way at most; the peer knows it already. */
  constructor(private readonly size: number) {
    this.#left = size;
  }

  /** @returns false when the peer sent more than it may. */
  receive(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /**
   * Bytes are dealt with.
   *
   * @returns what to grant the peer now; 0 while it isn't half of the window.
   */
  release(bytes: number): number {
    this.#unannounced += bytes;
    if (this.#unannounced < this.size / 2) return 0;
    const increment = this.#unannounced;
    this.#unannounced = 0;
    this.#left += increment;
    return increment;
  }
}
