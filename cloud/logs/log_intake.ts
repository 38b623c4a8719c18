import type { LogEntry } from "../../shared/gen/viam/common/v1/common_pb.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { type LogLine, toLogLines } from "./log_line.ts";
import type { LogStore } from "./log_store.ts";
import type { LogTail } from "./log_tail.ts";

/** Takes what machines log: stores it, then shows it to whoever reads along. */
export class LogIntake {
  readonly #listeners = new Set<(partId: string, lines: readonly LogLine[]) => void>();

  constructor(
    private readonly store: LogStore,
    private readonly tail: LogTail,
    private readonly clock: Clock,
  ) {}

  /** Resolves when the lines are stored. */
  async take(partId: string, entries: readonly LogEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const lines = toLogLines(entries, this.clock.now());
    const added = await this.store.append(partId, lines);
    this.tail.publish(partId, added);
    for (const listener of this.#listeners) listener(partId, added);
  }

  /** Calls `listener` with new lines of all parts, until the returned function is called. */
  listen(listener: (partId: string, lines: readonly LogLine[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
