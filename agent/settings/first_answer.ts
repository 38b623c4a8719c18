import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { WaitTimeoutError } from "../../shared/base/time/wait_for.ts";
import { anyChange, type Watched } from "../../shared/workers/watched.ts";

export interface WaitForUpdatesOptions {
  /**
   * The server's version that the cloud wants, empty: none; undefined until the cloud has answered.
   */
  readonly wanted: Watched<string | undefined>;
  /** The update of the server. */
  readonly update: {
    readonly changed: Watched<unknown>;
    snapshot(): { readonly target: string; readonly state: string; readonly error: string };
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** The machine must start without a cloud, too. */
const LONGEST_ANSWER_MS = 60_000;
/** And with one whose files come too slowly. */
const LONGEST_UPDATE_MS = 10 * 60_000;
/** A version that must wait for something else than its download holds the start up no longer. */
const UNDER_WAY: ReadonlySet<string> = new Set(["downloading", "waiting", "installing"]);

/**
 * Waits before the server is started: for the cloud's word, at most a minute, and for the version
 * that it names, at most ten.
 */
export async function waitForUpdates(
  { wanted, update, clock, log }: WaitForUpdatesOptions,
  signal: AbortSignal,
): Promise<void> {
  log.info("checks for updates before the server is started");
  const waitUntil = async (deadlineMs: number, what: string, wait: Wait): Promise<void> => {
    try {
      await withDeadline(wait, { clock, deadlineMs, what, signal });
    } catch (error) {
      if (!(error instanceof WaitTimeoutError)) throw error;
      log.warn(`${what} did not come in time; the server is started with what is there`);
    }
  };
  await waitUntil(LONGEST_ANSWER_MS, "the cloud's answer", async (inner) => {
    await wanted.until((version) => version !== undefined, inner);
  });
  if (!wanted.value) return;
  await waitUntil(LONGEST_UPDATE_MS, "the wanted version", async (inner) => {
    for (;;) {
      const { target, state, error } = update.snapshot();
      const isHeard = target === wanted.value;
      const isStuck = error !== "" && state === "downloading";
      if (isHeard && (isStuck || !UNDER_WAY.has(state))) return;
      await anyChange([update.changed, wanted], inner);
    }
  });
}

type Wait = (signal: AbortSignal) => Promise<void>;
