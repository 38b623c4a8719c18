import type { Clock } from "../../../shared/base/time/clock.ts";
import type { DownloadStore } from "./download_store.ts";
import { DownloadError } from "./download_error.ts";
import type { WantedFile } from "./wanted_file.ts";

/** Waits after refusals of the same target: 15 minutes, doubled each time, up to a day. */
const FIRST_MS = 15 * 60_000;
const MOST_MS = 24 * 3_600_000;

/** Targets that were wrong; remembered over restarts, so that no machine fetches them in a loop. */
export class Refusals {
  constructor(
    private readonly store: DownloadStore,
    private readonly clock: Clock,
    private readonly random: () => number,
  ) {}

  /** @throws {DownloadError} the target was refused and its time has not come. */
  check(target: string): void {
    const refusal = this.store.refusal(target);
    if (!refusal) return;
    const leftMs = refusal.retryAt.getTime() - this.clock.now().getTime();
    // More than any wait is: the clock was set back.
    if (leftMs <= 0 || leftMs > MOST_MS) return;
    throw new DownloadError(true, refusal.reason, refusal.retryAt);
  }

  /** Remembers a target, for longer each time. */
  add(target: string, wanted: WantedFile, reason: string, cause: unknown): DownloadError {
    const now = this.clock.now();
    const failures = (this.store.refusal(target)?.failures ?? 0) + 1;
    const ceilingMs = Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1));
    const waitMs = ceilingMs * (0.75 + 0.25 * this.random());
    const retryAt = new Date(now.getTime() + waitMs);
    this.store.refuse(target, wanted, { reason, failures, retryAt }, now);
    return new DownloadError(true, reason, retryAt, cause);
  }
}
