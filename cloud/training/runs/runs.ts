import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { RunFailedError } from "./run_failure.ts";
import { RunOutput } from "./run_output.ts";
import type { TaskEnd, TaskOutput } from "./runner.ts";

/** The runs of one runner: how each ends, and the end of all. */
export class Runs {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /**
   * @param work resolves when the script left a model; throws {RunFailedError} when not, and the
   * signal's reason when that aborts. Nothing of it is left running then.
   */
  async run(
    output: TaskOutput,
    signal: AbortSignal,
    work: (output: RunOutput, signal: AbortSignal) => Promise<void>,
  ): Promise<TaskEnd> {
    const stopping = linkedController(this.#closing.signal);
    const follow = () => stopping.abort(signal.reason);
    if (signal.aborted) follow();
    signal.addEventListener("abort", follow, { once: true });
    const printed = new RunOutput(output, this.clock);
    const running = work(printed, stopping.signal);
    this.#running.add(running);
    try {
      await running;
      return stopping.signal.aborted ? { kind: "aborted" } : { kind: "succeeded" };
    } catch (error) {
      if (stopping.signal.aborted) return { kind: "aborted" };
      if (!(error instanceof RunFailedError)) throw error;
      return { kind: "failed", code: error.code, reason: error.message };
    } finally {
      this.#running.delete(running);
      signal.removeEventListener("abort", follow);
      stopping.abort();
      printed.end();
    }
  }

  /** Aborts all runs and waits for their ends. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the cloud is shutting down"));
    await Promise.allSettled(this.#running);
  }
}
