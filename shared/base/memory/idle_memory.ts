import type { Clock } from "../time/clock.ts";

/** Collects everything that is not in use and gives its memory back to the system. */
export type CollectGarbage = () => void;

export interface IdleMemoryOptions {
  readonly collect: CollectGarbage;
  readonly clock: Clock;
  /** Collect every ten minutes too, and not only after the start. Default true. */
  readonly isRepeated?: boolean;
}

/** The start leaves the most; after that an idle agent makes little. */
const FIRST_MS = 20_000;
const EVERY_MS = 10 * 60_000;

/**
 * V8 collects when it allocates, so a program that is idle after its start would keep forever
 * what only the start needed (4 MB measured in the agent). A collection takes about 20 ms.
 */
export async function releaseIdleMemory(
  { collect, clock, isRepeated = true }: IdleMemoryOptions,
  signal: AbortSignal,
): Promise<void> {
  await clock.sleep(FIRST_MS, signal);
  if (!isRepeated) return collect();
  while (!signal.aborted) {
    collect();
    await clock.sleep(EVERY_MS, signal);
  }
}

/** The collector of this runtime; does nothing when it runs without `--expose-gc`. */
export const collectGarbage: CollectGarbage = () => {
  const { gc } = globalThis as { gc?: (options: { type: string; flavor: string }) => void };
  gc?.({ type: "major", flavor: "last-resort" });
};
