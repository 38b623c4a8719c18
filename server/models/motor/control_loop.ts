import type { Clock } from "../../../shared/base/time/clock.ts";

/** Steps a second. */
const LOOP_HZ = 100;
const PERIOD_MS = 1_000 / LOOP_HZ;
/** Steps whose lateness is kept. */
const KEPT = 1_000;

/** How late the steps of a loop came; milliseconds. */
export class Lateness {
  readonly #ms: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#ms[this.#next] = ms;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Of the last 1000 steps; undefined before the first one. */
  summary(): { hz: number; late_ms_p99: number; late_ms_max: number } | undefined {
    if (this.#ms.length === 0) return undefined;
    const sorted = [...this.#ms].sort((a, b) => a - b);
    const at = (part: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!;
    const rounded = (ms: number) => Math.round(ms * 100) / 100;
    return { hz: LOOP_HZ, late_ms_p99: rounded(at(0.99)), late_ms_max: rounded(at(1)) };
  }
}

/**
 * Calls `step` 100 times a second until it returns true. Steps that were missed are left out.
 *
 * @param step gets the seconds since the last one.
 * @throws the signal's reason; what `step` threw.
 */
export async function runLoop(
  clock: Clock,
  signal: AbortSignal,
  lateness: Lateness,
  step: (seconds: number) => Promise<boolean>,
): Promise<void> {
  let lastMs = clock.monotonicMs();
  let dueMs = lastMs;
  for (;;) {
    dueMs += PERIOD_MS;
    const nowMs = clock.monotonicMs();
    if (dueMs < nowMs) dueMs = nowMs;
    await clock.sleep(dueMs - nowMs, signal);
    const startMs = clock.monotonicMs();
    lateness.add(Math.max(0, startMs - dueMs));
    const seconds = (startMs - lastMs) / 1_000;
    lastMs = startMs;
    if (await step(seconds)) return;
    signal.throwIfAborted();
  }
}
