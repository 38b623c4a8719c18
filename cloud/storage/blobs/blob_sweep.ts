import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BlobStore } from "./blob_store.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

const SWEEP_EVERY_MS = 60 * 60_000;

/** What keeping blobs swept needs. */
export interface BlobUpkeep {
  /** Cautious: what an upload wrote before the host's clock jumped is not old. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Removes what killed uploads left, at the start and every hour until the signal aborts. */
export async function keepBlobsSwept(
  blobs: Pick<BlobStore, "sweep">,
  isKnown: (id: string) => Promise<boolean>,
  { clock, log, signal }: BlobUpkeep,
): Promise<void> {
  const turn = async () => {
    const removed = await blobs.sweep(isKnown, clock.now());
    if (removed > 0) log.info("removed what uploads left that were cut", { files: removed });
  };
  const onFailure = (error: unknown) =>
    log.error("cannot clean the folder of uploads; retrying", {
      event: "cleanup_failed",
      error: String(error),
    });
  await pollLoop(turn, { clock, intervalMs: SWEEP_EVERY_MS, onFailure }, signal);
}
