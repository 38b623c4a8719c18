import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { anyChange, type Watched } from "../../../shared/workers/watched.ts";
import type { SystemOutcome } from "./system_outcome.ts";

export interface KeepAppliedOptions<Wanted> {
  /** Looked at again when one of these changes. */
  readonly changes: readonly Watched<unknown>[];
  /** What the settings request, plain data; undefined: it is not known yet. */
  readonly wanted: () => Wanted | undefined;
  /** Applies it. What it throws counts as a failure. */
  readonly apply: (wanted: Wanted, signal: AbortSignal) => Promise<SystemOutcome>;
  readonly tell: (outcome: SystemOutcome) => void;
  readonly clock: Clock;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

const SHORTEST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 60 * 60_000;

/**
 * Keeps a part of the system as the settings specify: applied when they are known and at each
 * change; what fails is tried again, from a minute to an hour apart.
 */
export async function keepApplied<Wanted>(
  options: KeepAppliedOptions<Wanted>,
  signal: AbortSignal,
): Promise<void> {
  const { changes, wanted, clock, random = Math.random } = options;
  const waits = { minMs: SHORTEST_RETRY_MS, maxMs: LONGEST_RETRY_MS, jitter: false };
  const backoff = new Backoff(waits);
  let applied: string | undefined;
  while (!signal.aborted) {
    const asked = wanted();
    const key = asked === undefined ? undefined : JSON.stringify(asked);
    if (asked === undefined || key === applied) {
      await anyChange(changes, signal);
      continue;
    }
    const isDone = await tryOnce(options, asked, signal);
    if (isDone) {
      applied = key;
      backoff.reset();
    } else {
      applied = undefined;
      // Machines that fail at the same time do not ask the same servers again at the same time.
      const ms = backoff.next() * (0.5 + random() / 2);
      await anotherIsWanted(options, key, { ms, clock }, signal);
    }
  }
}

async function tryOnce<Wanted>(
  { apply, tell }: KeepAppliedOptions<Wanted>,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const outcome = await apply(wanted, signal);
    tell(outcome);
    return outcome.state !== "failed";
  } catch (error) {
    signal.throwIfAborted();
    tell({ state: "failed", text: toError(error).message });
    return false;
  }
}

/** Until the settings request something else, or its deadline is exceeded. */
async function anotherIsWanted<Wanted>(
  { changes, wanted }: KeepAppliedOptions<Wanted>,
  key: string | undefined,
  { ms, clock }: { ms: number; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonicMs() + ms;
  while (JSON.stringify(wanted()) === key) {
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0) return;
    await anyChange(changes, signal, { clock, ms: leftMs });
  }
}
