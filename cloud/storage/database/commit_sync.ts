/**
 * Brings what was committed to the disk without the program standing still, once for all who wait
 * at the same time.
 */
export class CommitSync {
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** @param sync brings everything that was written before the call to the disk */
  constructor(private readonly sync: () => Promise<void>) {}

  /** Resolves when all that was committed before the call is safe. Rejects when the disk fails. */
  wait(): Promise<void> {
    // One that is under way may have begun before the commit.
    this.#next ??= this.#current.catch(() => {}).then(() => {
      this.#next = undefined;
      return this.#current = this.sync();
    });
    return this.#next;
  }
}
