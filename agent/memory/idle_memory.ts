import type { Clock } from "../../shared/time/clock.ts";

/** Collects everything that is not in use and gives its memory back to the system. */
export type CollectGarbage = () => void;

/** The start leaves the most; after that an idle agent makes little. */
const FIRST_MS = 20_000;
const EVERY_MS = 10 * 60_000;

/**
 * V8 collects when it allocates, so a program that is idle after its start would keep for ever
 * what only the start needed (4 MB measured). A collection takes about 20 ms.
 */
export async function releaseIdleMemory(
  { collect, clock }: { collect: CollectGarbage; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  await clock.sleep(FIRST_MS, signal);
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
