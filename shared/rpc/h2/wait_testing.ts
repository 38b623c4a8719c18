/** How long a test waits for what must come. */
const DEADLINE_MS = 60_000;

/** Looks until something is true. @throws {Error} when it doesn't become so. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const endsAt = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > endsAt) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
