/** Random numbers of one seed. */
export interface RandomSource {
  /** 0 ≤ n < 1. */
  next(): number;
  /** 0 ≤ n < limit, whole. */
  below(limit: number): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** As many bytes, each of its own. */
  bytes(length: number): Uint8Array<ArrayBuffer>;
  pick<T>(items: readonly [T, ...T[]]): T;
}

/** The same numbers for the same seed (mulberry32). */
export function randomSource(seed: number): RandomSource {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
    pick: (items) => items[below(items.length)] ?? items[0],
  };
}
