/** What came of the work on one item. */
export interface Failure<T> {
  readonly item: T;
  readonly error: unknown;
}

/** Takes back what was done. */
export type Undo = () => Promise<void>;

/** Why a move is not taken back: somebody moved the machine to a third place. */
export class MovedMeanwhile extends Error {}

/** What came of the work on many. */
export interface Outcome<T> {
  readonly failures: readonly Failure<T>[];
  /** How many it was done for. */
  readonly done: number;
  /** Of those, how to take it back. */
  readonly undos: readonly { readonly item: T; readonly undo: Undo }[];
}

/**
 * Works on many items, some at a time, and continues when one fails.
 *
 * @param most so many at a time
 * @param work resolves with how to take it back, if it can be
 * @param progress gets how many are finished, after each
 * @param over once aborted, no item is begun any more
 */
export async function workOnAll<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<Undo | undefined | void>,
  progress: (finished: number) => void,
  over?: AbortSignal,
): Promise<Outcome<T>> {
  const failures: Failure<T>[] = [];
  const undos: { item: T; undo: Undo }[] = [];
  let done = 0;
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length && !over?.aborted; at = next++) {
      const item = items[at] as T;
      try {
        const undo = await work(item);
        done++;
        if (undo) undos.push({ item, undo });
      } catch (error) {
        failures.push({ item, error });
      }
      progress(done + failures.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return { failures, done, undos };
}

/** The words of a field, apart by commas; each once. */
export function tagsOf(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== ""))];
}

/** A machine's metadata with tags added and taken away; everything else stays. */
export function retagged<V>(
  metadata: Readonly<Record<string, V>>,
  add: readonly string[],
  remove: readonly string[],
): Record<string, V | string[]> {
  const wanted = [...new Set([...tagsIn(metadata), ...add])].filter((tag) => !remove.includes(tag));
  return { ...metadata, tags: wanted };
}

/** The tags in a machine's metadata. */
export function tagsIn(metadata: Readonly<Record<string, unknown>>): string[] {
  const { tags } = metadata;
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
}
