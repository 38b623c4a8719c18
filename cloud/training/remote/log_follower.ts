import type { Clock } from "../../../shared/base/time/clock.ts";
import type { RunOutput } from "../runs/run_output.ts";

/** Time between looks at a log, for each byte that a look reads: long logs are read less often. */
const MS_PER_BYTE = 0.005;

/** Gives a run's output line by line, from a log that is read whole each time. */
export class LogFollower {
  #readTo = 0;
  #nextMs = 0;

  constructor(
    private readonly read: () => Promise<string>,
    private readonly output: RunOutput,
    private readonly clock: Clock,
  ) {}

  /** Gives what was printed since the last look, but for a line that is not whole. Never rejects. */
  async look(): Promise<void> {
    if (this.clock.monotonicMs() < this.#nextMs) return;
    await this.#give(false);
  }

  /** Gives the rest. Never rejects: an end without its last lines is an end. */
  async finish(): Promise<void> {
    await this.#give(true);
  }

  async #give(isAll: boolean): Promise<void> {
    let text: string;
    try {
      text = await this.read();
    } catch {
      return;
    }
    this.#nextMs = this.clock.monotonicMs() + text.length * MS_PER_BYTE;
    const end = isAll ? text.length : text.lastIndexOf("\n") + 1;
    if (end <= this.#readTo) return;
    const fresh = text.slice(this.#readTo, end);
    this.#readTo = end;
    for (const line of fresh.split("\n")) this.output.onLine("stdout", line);
  }
}
