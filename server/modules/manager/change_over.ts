/** Prepares the next form of a module while the one before it continues running. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { needsRestart, type WantedModule } from "./wanted_module.ts";

export interface ChangeOverOptions {
  /** Does what has to be done before the first start, once; throws why it failed. */
  readonly prepare: (module: WantedModule, signal: AbortSignal) => Promise<void>;
  /** The next form can be started. */
  readonly onPrepared: (module: WantedModule) => void;
  /** Called after each change of {@link ChangeOver.error}. */
  readonly onChange: () => void;
  readonly clock: Clock;
  /** The module's logger. */
  readonly log: Logger;
  readonly random: () => number;
}

const RETRY_MIN_MS = 5_000;
const RETRY_MAX_MS = 60_000;

export class ChangeOver {
  #next: WantedModule | undefined;
  #controller = new AbortController();
  #firstAttempt: Promise<void> = Promise.resolve();
  #error = "";

  constructor(private readonly options: ChangeOverOptions) {}

  /** Why the next form is not used yet; "" while there is nothing to say. */
  get error(): string {
    return this.#error;
  }

  /** Resolves when the first attempt for the next form has succeeded or failed. */
  get firstAttempt(): Promise<void> {
    return this.#firstAttempt;
  }

  /** True while this very form is being prepared. */
  isFor(module: WantedModule): boolean {
    return this.#next !== undefined && !needsRestart(this.#next, module);
  }

  /** Prepares a form in place of one that was to be prepared before; tries again until it works. */
  begin(module: WantedModule): void {
    this.cancel();
    this.#next = module;
    const { signal } = this.#controller = new AbortController();
    const first = Promise.withResolvers<void>();
    this.#firstAttempt = first.promise;
    void this.#run(module, signal, first.resolve).finally(first.resolve);
  }

  /** The form that runs is the one that is wanted, or none is. */
  cancel(): void {
    this.#next = undefined;
    this.#error = "";
    this.#controller.abort(new Error("it is no longer wanted"));
  }

  async #run(module: WantedModule, signal: AbortSignal, tried: () => void): Promise<void> {
    const { prepare, onPrepared, onChange, clock, log, random } = this.options;
    const backoff = new Backoff({
      minMs: RETRY_MIN_MS,
      maxMs: RETRY_MAX_MS,
      random: () => 0.9 + random() / 10,
    });
    while (!signal.aborted) {
      try {
        await prepare(module, signal);
        if (signal.aborted) return;
        this.#next = undefined;
        this.#error = "";
        return onPrepared(module);
      } catch (error) {
        if (signal.aborted) return;
        const { message } = toError(error);
        if (message !== this.#error) {
          log.error(`the module keeps running as it was, its new version is not used: ${message}`, {
            event: "module_not_replaced",
          });
        }
        this.#error = message;
        onChange();
      }
      tried();
      await clock.sleep(Math.round(backoff.next()), signal).catch(() => {});
    }
  }
}
