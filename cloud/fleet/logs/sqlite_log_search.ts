import type { Database } from "../../../shared/base/store/sqlite.ts";
import { ASCII, type LogFilter } from "./log_filter.ts";
import type { LogPosition, LogQuery, LogRow, LogSearch, LogSlice } from "./log_store.ts";
import { type SearchOrder, searchOrder } from "./search_order.ts";

/** Of a {@link StoredRow}. */
export const LINE_COLUMNS =
  "seq, time_ns, digest, level, logger, message, host, caller, stack, fields";

/** A search in `logs.db`. */
export class SqliteLogSearch implements LogSearch {
  readonly start: LogPosition;
  readonly #order: SearchOrder;
  readonly #bounds;
  readonly #select;

  constructor(database: Database, private readonly source: number, query: LogQuery) {
    const { start, beyond, upTo, order, within } = this.#order = searchOrder(query);
    this.start = start;
    const from = `FROM lines INDEXED BY lines_in_order
      WHERE source = ? AND (time_ns, seq) ${beyond} (?, ?)${within}`;
    const ordered = `ORDER BY time_ns ${order}, seq ${order}`;
    // In the index alone.
    this.#bounds = database.prepare<[number, bigint, bigint, number], Bound>(
      `SELECT time_ns, seq ${from} ${ordered} LIMIT 1 OFFSET ?`,
    ).safeIntegers(true);
    const { condition, values } = sqlCondition(query.filter);
    const select = database.prepare<(string | number | bigint)[], StoredRow>(
      `SELECT ${LINE_COLUMNS}
       ${from} AND (time_ns, seq) ${upTo} (?, ?)${condition} ${ordered}`,
    ).safeIntegers(true);
    this.#select = (after: LogPosition, until: LogPosition) =>
      select.all(source, after.timeNs, after.seq, until.timeNs, until.seq, ...values);
  }

  slice(after: LogPosition, count: number): LogSlice {
    const bound = this.#bounds.get(this.source, after.timeNs, after.seq, count - 1);
    const end = bound && { timeNs: bound.time_ns, seq: bound.seq };
    const rows = this.#select(after, end ?? this.#order.last).map(toRow).filter(
      this.#order.matches,
    );
    return { rows, end };
  }
}

/**
 * What the matcher says, as far as SQL says the same: it leaves out lines before they are read
 * into this program. Other letters than those of ASCII have another case for SQLite.
 */
function sqlCondition(filter: LogFilter): { condition: string; values: string[] } {
  const conditions: string[] = [];
  const values: string[] = [];
  const { levels = [], source } = filter;
  if (levels.length > 0) {
    conditions.push(`level IN (${levels.map(() => "?").join(", ")})`);
    values.push(...levels);
  }
  if (source) {
    conditions.push("(logger = ? OR substr(logger, 1, length(?)) = ?)");
    values.push(source, `${source}.`, `${source}.`);
  }
  const text = filter.text?.toLowerCase();
  if (text && ASCII.test(text)) {
    conditions.push("(instr(lower(message), ?) OR instr(lower(logger), ?))");
    values.push(text, text);
  }
  return { condition: conditions.map((each) => ` AND ${each}`).join(""), values };
}

interface Bound {
  time_ns: bigint;
  seq: bigint;
}

/** A line of `logs.db` with whole numbers as they are stored. */
export interface StoredRow {
  seq: bigint;
  time_ns: bigint;
  digest: bigint;
  level: string;
  logger: string;
  message: string;
  host: string;
  caller: string | null;
  stack: string | null;
  fields: string | null;
}

export function toRow(stored: StoredRow): LogRow {
  const { time_ns: timeNs, digest, ...rest } = stored;
  return { ...rest, timeNs, digest: Number(digest) };
}
