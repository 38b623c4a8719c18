/** What came of the work on one item. */
export interface Failure<T> {
  readonly item: T;
  readonly error: unknown;
}

/**
 * Works on many items, some at a time, and continues when one fails.
 *
 * @param most so many at a time
 * @param progress gets how many are finished, after each
 * @returns those that failed
 */
export async function workOnAll<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
  progress: (finished: number) => void,
): Promise<Failure<T>[]> {
  const failures: Failure<T>[] = [];
  let next = 0;
  let finished = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at] as T;
      try {
        await work(item);
      } catch (error) {
        failures.push({ item, error });
      }
      progress(++finished);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return failures;
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
  const { tags } = metadata;
  const there = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
  const wanted = [...new Set([...there, ...add])].filter((tag) => !remove.includes(tag));
  return { ...metadata, tags: wanted };
}
