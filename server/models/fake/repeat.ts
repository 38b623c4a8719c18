import type { Clock, Timer } from "../../../shared/base/time/clock.ts";

/** Calls `run` every `ms` milliseconds until it is cancelled. */
export function repeat(clock: Clock, ms: number, run: () => void): Timer {
  let timer: Timer;
  const arm = () => {
    timer = clock.setTimer(ms, () => {
      arm();
      run();
    });
  };
  arm();
  return { cancel: () => timer.cancel() };
}
