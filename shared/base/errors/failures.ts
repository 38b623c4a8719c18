/** Collects what fails, so that one thing that cannot be done does not keep others from it. */
export class Failures {
  readonly #errors: unknown[] = [];

  /** @returns what the work gives; `otherwise` when it fails. */
  async during<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.add(error);
      return otherwise;
    }
  }

  add(error: unknown): void {
    this.#errors.push(error);
  }

  /** Throws what was collected: the error itself where there is one. @throws {AggregateError} */
  throwIfAny(): void {
    if (this.#errors.length === 0) return;
    if (this.#errors.length === 1) throw this.#errors[0];
    throw new AggregateError(this.#errors, this.#errors.map(String).join("; "));
  }
}
