/**
 * Which elements show which rows, where rows come and go: one that stays keeps its element, and with
 * it the focus; a new one takes the element of one that went, as making elements is what scrolling
 * waits for.
 */
export class Slots {
  #taken: ReadonlyMap<string, number> = new Map();

  /** The slot of each key, counted from 0. Keys are unlike one another. */
  assign(keys: readonly string[]): number[] {
    const before = this.#taken;
    const kept = new Set<number>();
    for (const key of keys) {
      const slot = before.get(key);
      if (slot !== undefined && slot < keys.length) kept.add(slot);
    }
    let free = 0;
    const slots = keys.map((key) => {
      const slot = before.get(key);
      if (slot !== undefined && slot < keys.length) return slot;
      while (kept.has(free)) free++;
      return free++;
    });
    this.#taken = new Map(keys.map((key, at) => [key, slots[at] ?? 0]));
    return slots;
  }
}
