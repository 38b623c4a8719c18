/** A number may come so many requests later than its turn. */
const LATEST = 64;

/**
 * Numbers that a client left out, and may still use. HTTP/2 forbids that, and the Python SDK does
 * it all the same: it begins requests in two threads, each takes its number first and sends its
 * headers later. Ending the connection for it would cost all calls that are under way.
 */
export class SkippedStreams {
  readonly #ids = new Set<number>();

  /** A request began with the number `id`; the newest one before it had `last`. */
  began(id: number, last: number): void {
    // Before the first request `last` is 0, and numbers are odd.
    const next = last === 0 ? 1 : last + 2;
    for (let left = Math.max(next, id - 2 * LATEST); left < id; left += 2) this.#ids.add(left);
    if (this.#ids.size === 0) return;
    for (const old of this.#ids) if (old < id - 2 * LATEST) this.#ids.delete(old);
  }

  /** Whether a number was left out; it then isn't any more. */
  take(id: number): boolean {
    return this.#ids.delete(id);
  }
}
