import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";

/** What was measured in a longer time is used only where there is nothing newer. */
const EXACT_WITHIN_MS = 500;
const OLD_AFTER_MS = 60_000;
/** A host whose clock is off by more is reported. */
const OFF_MS = 5_000;

/**
 * The time of the database, which nodes measure with each beat: what one node writes down as due,
 * expired or used is read by the others, and the clocks of their hosts differ. Between two
 * measurements, and while the database cannot be reached, it moves on by the host's monotonic clock.
 * Until the first one, and with SQLite, it is the clock of the host.
 */
export class SharedClock implements Clock {
  #measured: { readonly timeMs: number; readonly atMs: number } | undefined;
  #isOff = false;

  constructor(private readonly host: Clock, private readonly log: Logger) {}

  now(): Date {
    if (!this.#measured) return this.host.now();
    const { timeMs, atMs } = this.#measured;
    return new Date(timeMs + this.host.monotonicMs() - atMs);
  }

  /**
   * Sets it to what the database said.
   *
   * @param timeMs milliseconds since 1970
   * @param askedMs when it was asked, by the monotonic clock; it answers now
   */
  set(timeMs: number, askedMs: number): void {
    const nowMs = this.host.monotonicMs();
    const isExact = nowMs - askedMs <= EXACT_WITHIN_MS;
    const isOld = !this.#measured || nowMs - this.#measured.atMs >= OLD_AFTER_MS;
    if (!isExact && !isOld) return;
    this.#measured = { timeMs, atMs: (askedMs + nowMs) / 2 };
    const offMs = this.host.now().getTime() - this.now().getTime();
    const isOff = Math.abs(offMs) > OFF_MS;
    if (isOff && !this.#isOff) {
      this.log.warn("the clock of this host is not that of the database, which counts; set it", {
        event: "clock_differs",
        seconds: Math.round(offMs / 1_000),
      });
    }
    this.#isOff = isOff;
  }

  monotonicMs(): number {
    return this.host.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.host.sleep(ms, signal);
  }

  setTimer(ms: number, run: () => void): ReturnType<Clock["setTimer"]> {
    return this.host.setTimer(ms, run);
  }
}
