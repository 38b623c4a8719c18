import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type LogEntry, LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import { type LogLine, toLogLines } from "./log_line.ts";
import { type DroppedLines, LOG_LIMITS, LogQuota, NOTICE_EVERY_MS } from "./log_quota.ts";
import type { LogStore } from "./log_store.ts";
import type { LogTail } from "./log_tail.ts";
import { shareQuota } from "./shared_log_quota.ts";

/** Logger of the lines that the cloud itself writes into a part's log about that log. */
export const LOGS_LOGGER = "machine-cloud.logs";

/** Lines that are taken before other calls have their turn. */
const SLICE = 5_000;

/** Takes what machines log: stores it, then shows it to whoever reads along. */
export class LogIntake {
  readonly #listeners = new Set<(partId: string, lines: readonly LogLine[]) => void>();
  readonly #quota: LogQuota;

  constructor(
    private readonly store: LogStore,
    private readonly tail: LogTail,
    private readonly clock: Clock,
    private readonly limits = LOG_LIMITS,
  ) {
    this.#quota = new LogQuota(limits, clock);
  }

  /**
   * Resolves when the lines are stored. Those beyond the part's share are left out; its log says
   * how many, within {@link NOTICE_EVERY_MS}.
   */
  async take(partId: string, entries: readonly LogEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const admitted = this.#quota.admit(partId, entries);
    if (admitted.length > 0) await this.#keep(partId, admitted);
  }

  /** Counts with the other nodes what a part sends, until it is disposed of. */
  share(nodes: Nodes, log: Logger): AsyncDisposable {
    return shareQuota(this.#quota, { nodes, clock: this.clock, log });
  }

  /** Writes the notices about lines that were left out until the signal aborts, and the rest then. */
  async run(log: Logger, signal: AbortSignal): Promise<void> {
    const write = (all: boolean) =>
      this.writeNotices(all).catch((error) =>
        log.error("cannot write how many log lines were left out", {
          event: "machine_logs_failed",
          error: String(error),
        })
      );
    const intervalMs = NOTICE_EVERY_MS / 2;
    await pollLoop(
      () => write(false),
      { clock: this.clock, intervalMs, firstMs: intervalMs },
      signal,
    );
    await write(true);
  }

  /** Writes the notices that are due; with `all` those, too, that could wait. */
  async writeNotices(all = false): Promise<void> {
    for (const dropped of this.#quota.takeNotices(all)) {
      await this.#keep(dropped.partId, [this.#notice(dropped)]);
    }
  }

  /** Calls `listener` with new lines of all parts, until the returned function is called. */
  listen(listener: (partId: string, lines: readonly LogLine[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #keep(partId: string, entries: readonly LogEntry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += SLICE) {
      if (at > 0) await letOthersWork();
      const lines = toLogLines(entries.slice(at, at + SLICE), this.clock.now());
      const added = await this.store.append(partId, lines);
      await this.store.keepWithin(partId, this.limits.keptBytes);
      this.tail.publish(partId, added);
      for (const listener of this.#listeners) listener(partId, added);
    }
  }

  #notice({ lines, bytes }: DroppedLines): LogEntry {
    const rate = Math.round(this.limits.bytesPerSecond / 1024);
    const what = lines === 1 ? "1 log line was" : `${lines} log lines were`;
    return create(LogEntrySchema, {
      host: "machine-cloud",
      level: "warn",
      time: timestampFromDate(this.clock.now()),
      loggerName: LOGS_LOGGER,
      message: `${what} dropped (${Math.ceil(bytes / 1024)} KiB): this part logs more than the ` +
        `${rate} KiB a second that the cloud takes of it; log less, or raise --log-rate there`,
    });
  }
}
