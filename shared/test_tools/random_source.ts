import { toError } from "../base/errors/to_error.ts";

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

/** What gives a test the seed of a run that failed. */
const SEED = "MACHINE_TEST_SEED";

/**
 * Runs a test with numbers that are others in each run.
 *
 * @param work gets the seed of `MACHINE_TEST_SEED`, or a new one
 * @throws what `work` throws, with the seed in front.
 */
export async function withSeed(work: (seed: number) => Promise<void>): Promise<void> {
  const seed = Number(Deno.env.get(SEED) ?? crypto.getRandomValues(new Uint32Array(1))[0]);
  if (!Number.isSafeInteger(seed)) throw new Error(`${SEED} is no whole number`);
  try {
    await work(seed);
  } catch (error) {
    throw new Error(`with ${SEED}=${seed}: ${toError(error).message}`, { cause: error });
  }
}
