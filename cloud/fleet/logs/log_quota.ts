import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { normalLevel } from "./log_level.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** How much one part may log. */
export interface LogLimits {
  /** Bytes a second that a part may send for as long as it likes. */
  readonly bytesPerSecond: number;
  /** Bytes that it may send at once, after it was quiet for long. */
  readonly burstBytes: number;
  /** Bytes of lines that are kept of it; the oldest go first. */
  readonly keptBytes: number;
}

/**
 * The burst takes the full queues of a machine's server and agent that were without a network:
 * 20,000 lines and 16 MiB at most, each.
 */
export const LOG_LIMITS: LogLimits = {
  bytesPerSecond: 128 * KIB,
  burstBytes: 48 * MIB,
  keptBytes: 1024 * MIB,
};

/** Limits for a rate and a size; a faster rate has its burst grow with it. */
export function logLimits(bytesPerSecond: number, keptBytes: number): LogLimits {
  const factor = Math.max(1, bytesPerSecond / LOG_LIMITS.bytesPerSecond);
  return { bytesPerSecond, burstBytes: LOG_LIMITS.burstBytes * factor, keptBytes };
}

/** What a line costs next to its texts: its row, and its places in the indexes. */
export const LINE_BYTES = 256;

/** The last quarter of a burst is for warnings and errors. */
const KEPT_FOR_SERIOUS = 1 / 4;
const SERIOUS = new Set(["warn", "error"]);

/** How often a part's log says how many lines were left out of it, at most. */
export const NOTICE_EVERY_MS = 10_000;

/** Lines that were left out since the last notice. */
export interface DroppedLines {
  readonly partId: string;
  readonly lines: number;
  readonly bytes: number;
}

interface Budget {
  left: number;
  /** Bytes that other nodes do not know of. */
  untold: number;
  atMs: number;
  dropped: number;
  droppedBytes: number;
  /** When the first line was left out since the last notice. */
  droppingSinceMs: number | undefined;
}

/**
 * Keeps one part from filling the cloud's disk with its log. A part that sends more than its share
 * loses lines, and its log says how many: refusing them would only make the machine send them again.
 */
export class LogQuota {
  readonly #budgets = new Map<string, Budget>();
  /**
   * Called when a part has spent a quarter of a second's share. `take` gives its bytes since it was
   * called last.
   */
  onSpent: (partId: string, take: () => number) => void = () => undefined;

  constructor(private readonly limits: LogLimits, private readonly clock: Clock) {}

  /** Those of a part's new lines that are within its share; counts the others. */
  admit(partId: string, entries: readonly LogEntry[]): LogEntry[] {
    const budget = this.#budget(partId);
    const reserve = this.limits.burstBytes * KEPT_FOR_SERIOUS;
    const admitted = entries.filter((entry) => {
      const bytes = sizeOf(entry);
      if (budget.left > (SERIOUS.has(normalLevel(entry.level)) ? 0 : reserve)) {
        // A line may take more than is left: it is a debt, and the longest line bounds it.
        budget.left -= bytes;
        budget.untold += bytes;
        return true;
      }
      budget.dropped += 1;
      budget.droppedBytes += bytes;
      budget.droppingSinceMs ??= this.clock.monotonicMs();
      return false;
    });
    if (budget.untold >= this.limits.bytesPerSecond / 4) {
      this.onSpent(partId, () => {
        const bytes = budget.untold;
        budget.untold = 0;
        return bytes;
      });
    }
    return admitted;
  }

  /** Another node took this of a part. What several took at once is a debt, however large. */
  spend(partId: string, bytes: number): void {
    this.#budget(partId).left -= bytes;
  }

  /** On another node no more is left of a part's share. */
  lower(partId: string, left: number): void {
    const budget = this.#budget(partId);
    budget.left = Math.min(budget.left, left);
  }

  /** What is left of the shares that are not whole, as other nodes know it by now. */
  all(): { readonly part: string; readonly left: number }[] {
    return [...this.#budgets].map(([part, budget]) => ({
      part,
      left: this.#refill(budget) + budget.untold,
    }));
  }

  /** What the logs are to say now, reported once; with `all` also what would have to wait. */
  takeNotices(all = false): DroppedLines[] {
    const now = this.clock.monotonicMs();
    const told: DroppedLines[] = [];
    for (const [partId, budget] of this.#budgets) {
      const since = budget.droppingSinceMs;
      if (since === undefined) {
        if (this.#refill(budget) >= this.limits.burstBytes) this.#budgets.delete(partId);
      } else if (all || now - since >= NOTICE_EVERY_MS) {
        told.push({ partId, lines: budget.dropped, bytes: budget.droppedBytes });
        budget.dropped = budget.droppedBytes = 0;
        budget.droppingSinceMs = undefined;
      }
    }
    return told;
  }

  #budget(partId: string): Budget {
    const known = this.#budgets.get(partId);
    if (known) {
      this.#refill(known);
      return known;
    }
    const budget: Budget = {
      left: this.limits.burstBytes,
      untold: 0,
      atMs: this.clock.monotonicMs(),
      dropped: 0,
      droppedBytes: 0,
      droppingSinceMs: undefined,
    };
    this.#budgets.set(partId, budget);
    return budget;
  }

  #refill(budget: Budget): number {
    const { bytesPerSecond, burstBytes } = this.limits;
    const now = this.clock.monotonicMs();
    budget.left = Math.min(
      burstBytes,
      budget.left + (now - budget.atMs) / 1000 * bytesPerSecond,
    );
    budget.atMs = now;
    return budget.left;
  }
}

/** What a line takes of a budget, in bytes, about. */
function sizeOf({ message, stack, host, loggerName, level, fields, caller }: LogEntry): number {
  const json = (fields.length === 0 ? 0 : JSON.stringify(fields).length) +
    (caller === undefined ? 0 : JSON.stringify(caller).length);
  const texts = message.length + stack.length + host.length + loggerName.length + level.length;
  return LINE_BYTES + texts + json;
}
