/** So many are kept; what comes for an older one is answered, which does no harm. */
const MOST = 200;

/** Streams that were reset here before the peer had said everything: more of them is on its way. */
export class GivenUpStreams {
  /** Oldest first. */
  readonly #ids = new Set<number>();

  add(id: number): void {
    this.#ids.add(id);
    if (this.#ids.size <= MOST) return;
    for (const oldest of this.#ids) return void this.#ids.delete(oldest);
  }

  has(id: number): boolean {
    return this.#ids.has(id);
  }
}
