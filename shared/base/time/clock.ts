/** A timer that has been set and can be taken back. */
export interface Timer {
  /** Takes the timer back; does nothing when it has run already. */
  cancel(): void;
}

/** Everything the product knows about time. Tests pass a {@link FakeClock}. */
export interface Clock {
  /** Wall clock time. Can jump when the operator or NTP sets the clock. */
  now(): Date;
  /** Milliseconds since some fixed point; never goes back. Use it to measure spans. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms` milliseconds unless cancelled. */
  setTimer(ms: number, run: () => void): Timer;
}

// setTimeout takes a signed 32-bit number of milliseconds and fires at once above it.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

function setLongTimer(ms: number, run: () => void): Timer {
  let handle: ReturnType<typeof setTimeout>;
  const arm = (left: number) => {
    const step = Math.min(left, LONGEST_TIMEOUT_MS);
    handle = setTimeout(() => left > step ? arm(left - step) : run(), step);
  };
  arm(Math.max(0, ms));
  return { cancel: () => clearTimeout(handle) };
}

/** `sleep` in terms of `setTimer`; shared by every clock. */
export function sleepWith(
  setTimer: Clock["setTimer"],
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = setTimer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The clock of this host. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleepWith(setLongTimer, ms, signal),
  setTimer: setLongTimer,
};
