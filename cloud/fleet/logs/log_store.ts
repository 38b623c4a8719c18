import { Buffer } from "node:buffer";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { LogFilter } from "./log_filter.ts";
import type { LogLine } from "./log_line.ts";
import { LINE_BYTES } from "./log_quota.ts";

/** A place between two lines, as far as a page reaches. */
export interface LogPosition {
  readonly timeNs: bigint;
  readonly seq: bigint;
}

export interface LogPage {
  readonly lines: readonly LogLine[];
  /** Where the next page continues; undefined when there is none. */
  readonly next: LogPosition | undefined;
}

export interface LogQuery {
  readonly filter: LogFilter;
  readonly limit: number;
  readonly after?: LogPosition | undefined;
  /** Default newest first. */
  readonly order?: "newest-first" | "oldest-first";
}

/** What distinguishes a line from all others of its part. */
export type LineKey = Pick<LogLine, "timeNs" | "digest">;

/**
 * The log lines of all machines. Statements are short: a long batch or a search through many lines
 * lets other work in between. A line that is sent again, because its answer was lost, is kept once.
 */
export interface LogStore {
  /**
   * Stores lines of a part; gives back those that were not there yet.
   *
   * @param receivedAt left out: now
   */
  append(partId: string, lines: readonly LogLine[], receivedAt?: Date): Promise<LogLine[]>;

  /**
   * A page of lines. A search through many lines ends its page after a moment, perhaps with no line
   * at all, and says where to continue.
   */
  read(partId: string, query: LogQuery): Promise<LogPage>;

  /** Lines of a part by their keys, in the order in which they came; those that are there. */
  find(partId: string, keys: readonly LineKey[]): Promise<LogLine[]>;

  /**
   * Deletes lines that were received before a time. Lines of a clock that was ahead do not keep
   * others behind them.
   *
   * @param ahead what came later than this came by a wrong clock; left out: nothing did
   * @returns how many
   */
  deleteReceivedBefore(
    before: Date,
    options?: { readonly ahead?: Date; readonly signal?: AbortSignal },
  ): Promise<number>;

  /**
   * Deletes lines of a part, oldest first, until it has no more than `bytes` of them. Returns how
   * many went.
   */
  keepWithin(partId: string, bytes: number): Promise<number>;

  /** Bytes of the lines that are kept of a part, with what each takes next to its texts. */
  bytesOf(partId: string): Promise<number>;

  close(): void;
}

/** What {@link bytesOfLine} says, in SQL. */
export const ROW_BYTES = `${LINE_BYTES} + octet_length(level) + octet_length(logger) +
  octet_length(message) + octet_length(host) + coalesce(octet_length(caller), 0) +
  coalesce(octet_length(stack), 0) + coalesce(octet_length(fields), 0)`;

/** What a line counts for in the size of a part's log. */
export function bytesOfLine(line: LogLine): number {
  const texts = [line.level, line.logger, line.message, line.host];
  for (const text of [line.caller, line.stack, line.fields]) if (text !== null) texts.push(text);
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), LINE_BYTES);
}

export type LogRow = LogLine & { readonly seq: bigint };

/** What a slice of lines holds. */
export interface LogSlice {
  /** Those that match. */
  readonly rows: readonly LogRow[];
  /** The last line that was looked at; undefined when there are no more. */
  readonly end: LogPosition | undefined;
}

/** Looks through the lines of one part, a slice at a time. */
export interface LogSearch {
  readonly start: LogPosition;
  /** What matches among the next `count` lines behind a position. */
  slice(after: LogPosition, count: number): LogSlice | Promise<LogSlice>;
}

/** How much is looked through before other work, and before the page ends. */
export interface SearchPace {
  readonly sliceLines: number;
  readonly pageMs: number;
}

/** One page of a search. */
export async function readPage(
  search: LogSearch,
  limit: number,
  { sliceLines, pageMs }: SearchPace,
  clock: Clock,
): Promise<LogPage> {
  const startedMs = clock.monotonicMs();
  const lines: LogLine[] = [];
  for (let position = search.start, size = limit + 1;; size = sliceLines) {
    const slice = await search.slice(position, Math.min(size, sliceLines));
    for (const row of slice.rows) {
      if (lines.length === limit) return { lines, next: position };
      lines.push(row);
      position = row;
    }
    if (slice.end === undefined) return { lines, next: undefined };
    position = slice.end;
    if (clock.monotonicMs() - startedMs > pageMs) return { lines, next: position };
    await clock.sleep(0);
  }
}
