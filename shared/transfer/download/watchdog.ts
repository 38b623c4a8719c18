/** Ends a transfer that stalls or takes too long. */
import type { Clock, Timer } from "../../base/time/clock.ts";
import { linkedController } from "../../base/time/linked_controller.ts";
import { TransferError } from "./transfer_error.ts";

export interface TransferLimits {
  /** Longest time in which nothing comes. Milliseconds. */
  readonly stallMs: number;
  /** Longest time for one attempt. Milliseconds. */
  readonly totalMs: number;
}

export const TRANSFER_LIMITS: TransferLimits = { stallMs: 60_000, totalMs: 30 * 60_000 };

export class Watchdog {
  /** Aborts with a {@link TransferError}, or as the parent does. */
  readonly signal: AbortSignal;
  readonly #controller: AbortController;
  readonly #total: Timer;
  #stall: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly limits: TransferLimits,
    parent: AbortSignal,
  ) {
    this.#controller = linkedController(parent);
    this.signal = this.#controller.signal;
    this.#total = clock.setTimer(limits.totalMs, () => {
      this.#end(`the download was not done within ${limits.totalMs / 1_000} s`);
    });
    this.heard();
  }

  /** Something came. */
  heard(): void {
    this.#stall?.cancel();
    const { stallMs } = this.limits;
    this.#stall = this.clock.setTimer(stallMs, () => {
      this.#end(`the download stalled: nothing came for ${stallMs / 1_000} s`);
    });
  }

  /** Nothing is to come until {@link heard} is called: this side does not take it. */
  pause(): void {
    this.#stall?.cancel();
  }

  close(): void {
    this.#total.cancel();
    this.#stall?.cancel();
    this.#controller.abort(new Error("the transfer is over"));
  }

  #end(reason: string): void {
    this.#controller.abort(new TransferError("unreachable", `${reason}; it resumes from there`));
  }
}
