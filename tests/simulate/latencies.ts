import { percentile } from "../bench/report.ts";

/** How long things took, and how often they failed. */
export class Latencies {
  readonly #ms: number[] = [];
  readonly #failures = new Map<string, number>();

  /** Notes how long some work took from `startedMs`; a failure is counted, not thrown. */
  async measure(work: Promise<unknown>, startedMs = performance.now()): Promise<boolean> {
    try {
      await work;
      this.add(performance.now() - startedMs);
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
      return false;
    }
  }

  add(ms: number): void {
    this.#ms.push(ms);
  }

  get count(): number {
    return this.#ms.length;
  }

  get failed(): number {
    return this.#failures.values().reduce((sum, count) => sum + count, 0);
  }

  /** A row of a table: how many, how many failed, and how long half, 99 % and all took. */
  row(name: string): string[] {
    const at = (share: number) =>
      this.count === 0 ? "-" : `${percentile(this.#ms, share).toFixed(0)} ms`;
    return [name, String(this.count), String(this.failed), at(0.5), at(0.99), at(1)];
  }

  /** The reasons of failures, the most frequent first. */
  reasons(): string[] {
    return [...this.#failures].sort(([, a], [, b]) => b - a).map(([reason, count]) =>
      `${count} × ${reason}`
    );
  }
}
