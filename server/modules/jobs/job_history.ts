/** How many runs of each outcome are kept. */
const KEPT_RUNS = 10;

/** The last runs of one job, by the time they ended; the newest last. */
export class JobHistory {
  readonly #successful: Date[] = [];
  readonly #failed: Date[] = [];

  add(ended: Date, failed: boolean): void {
    const runs = failed ? this.#failed : this.#successful;
    runs.push(ended);
    if (runs.length > KEPT_RUNS) runs.shift();
  }

  get successful(): Date[] {
    return [...this.#successful];
  }

  get failed(): Date[] {
    return [...this.#failed];
  }
}
