/** How many calls are running, and when none is. */
export class RunningCalls {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  begin(): void {
    this.#running++;
  }

  end(): void {
    if (--this.#running > 0) return;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Resolves when no call is running, after `ms` at the latest. */
  async none(ms: number): Promise<void> {
    if (this.#running === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}
