/**
 * Passes on what several writers have, as if one wrote after the other: the first as it comes, of
 * the others what they have when those before them have ended.
 */
export class InTurn {
  readonly #kept: Uint8Array[][] = [];
  readonly #ended = new Set<number>();
  #current = 0;

  constructor(private readonly write: (bytes: Uint8Array) => void) {}

  /** @param at place of the writer, from 0. */
  add(at: number, bytes: Uint8Array): void {
    if (at === this.#current) this.write(bytes);
    else (this.#kept[at] ??= []).push(bytes);
  }

  end(at: number): void {
    this.#ended.add(at);
    while (this.#ended.has(this.#current)) {
      for (const bytes of this.#kept[++this.#current] ?? []) this.write(bytes);
      delete this.#kept[this.#current];
    }
  }
}
