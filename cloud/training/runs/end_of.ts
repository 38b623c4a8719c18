import type { ChildProcess } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/**
 * Waits for the end of a program, which is killed when it takes longer than `limitMs`.
 *
 * @throws the signal's reason, when the program is killed because of that.
 */
export async function endOf(
  child: ChildProcess,
  { clock, limitMs, signal }: {
    readonly clock: Clock;
    readonly limitMs: number;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly code: number | null; readonly isLate: boolean }> {
  let isLate = false;
  const kill = () => void child.kill();
  const timer = clock.setTimer(limitMs, () => {
    isLate = true;
    kill();
  });
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const { code } = await child.exited;
  timer.cancel();
  signal.removeEventListener("abort", kill);
  signal.throwIfAborted();
  return { code, isLate };
}
