import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";

/** Writes that may fail, as on a full disk: what happens is said once, and once when it is over. */
export class DiskNotice {
  #problem: string | undefined;

  constructor(private readonly log: Logger) {}

  /** One sentence while the last write failed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * @param write returns whether it wrote anything.
   * @returns whether all is on disk.
   */
  try(write: () => boolean): boolean {
    let hasWritten: boolean;
    try {
      hasWritten = write();
    } catch (error) {
      const problem = `the networks' state cannot be kept on disk: ${toError(error).message}`;
      if (this.#problem === undefined) this.log.error(problem, { event: "state_not_written" });
      this.#problem = problem;
      return false;
    }
    if (!hasWritten || this.#problem === undefined) return true;
    this.log.info("the networks' state is kept on disk again");
    this.#problem = undefined;
    return true;
  }
}
