/** Between two of them the process reads its sockets. */
const STEPS = 5;

/**
 * How long a caller may take. In steps: a process that stood still, or got no processor, has not
 * read what came meanwhile, and must not take its own delay for the caller's.
 */
export class PatientTimer {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, private readonly onLate: () => void) {
    this.#wait(ms / STEPS, STEPS);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }

  #wait(ms: number, steps: number): void {
    this.#timer = setTimeout(() => {
      if (steps === 1) this.onLate();
      else this.#wait(ms, steps - 1);
    }, ms);
  }
}
