/**
 * Files of the cache that must not be removed. Everybody who uses some reports them here, and the
 * cleaner reads them: neither has to know the other.
 */
export class FilesInUse {
  readonly #byUser = new Map<string, readonly string[]>();

  /** @param users must all have reported before {@link paths} has an answer. Default: none. */
  constructor(private readonly users: readonly string[] = []) {}

  /** Replaces what a user has reported before. */
  set(user: string, paths: readonly string[]): void {
    this.#byUser.set(user, paths);
  }

  /**
   * Absolute paths, in no order.
   *
   * @throws {Error} while one of the users has not reported yet.
   */
  paths(): string[] {
    const missing = this.users.find((user) => !this.#byUser.has(user));
    if (missing !== undefined) throw new Error(`the files of ${missing} are not known yet`);
    return [...this.#byUser.values()].flat();
  }
}
