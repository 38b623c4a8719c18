import { linkedController } from "../../../shared/base/time/linked_controller.ts";

/** One task next to a loop; a new one ends the one before. */
export class OneWork {
  #running: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  /** @param onError gets what `run` throws unless it was aborted. */
  async start(
    run: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
    onError: (error: unknown) => void,
  ): Promise<void> {
    await this.stop();
    const stop = linkedController(signal);
    const ended = run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) onError(error);
    });
    this.#running = { stop, ended };
  }

  /** Resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stop.abort();
    await running?.ended;
  }
}
