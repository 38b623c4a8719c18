import type { DirectStatements } from "../../storage/database/direct_statements.ts";
import { ASCII, type LogFilter } from "./log_filter.ts";
import type { LogLine } from "./log_line.ts";
import type { LogPosition, LogQuery, LogRow, LogSearch, LogSlice } from "./log_store.ts";
import { type SearchOrder, searchOrder } from "./search_order.ts";

/** Of a {@link PostgresRow}. */
export const LINE_COLUMNS =
  "seq, time_ns::text, digest, level, logger, message, host, caller, stack, fields";

/** A line as PostgreSQL gives it. */
export interface PostgresRow extends Omit<LogLine, "timeNs"> {
  readonly seq: number;
  readonly time_ns: string;
}

/** A search in the tables of all days. */
export class PostgresLogSearch implements LogSearch {
  readonly start: LogPosition;
  readonly #order: SearchOrder;
  readonly #bounds: string;
  readonly #select: string;
  readonly #values: readonly unknown[];

  constructor(
    private readonly statements: DirectStatements,
    private readonly source: number,
    query: LogQuery,
  ) {
    const { start, beyond, upTo, order, within } = this.#order = searchOrder(query);
    this.start = start;
    const from = `FROM log_lines WHERE source = $1 AND (time_ns, seq) ${beyond} ($2, $3)${within}`;
    // The column, not the text of the same name.
    const ordered = `ORDER BY log_lines.time_ns ${order}, seq ${order}`;
    this.#bounds = `SELECT time_ns::text, seq ${from} ${ordered} LIMIT 1 OFFSET $4`;
    const { condition, values } = sqlCondition(query.filter, 6);
    this.#values = values;
    this.#select = `SELECT ${LINE_COLUMNS} ${from}
      AND (time_ns, seq) ${upTo} ($4, $5)${condition} ${ordered}`;
  }

  async slice(after: LogPosition, count: number): Promise<LogSlice> {
    const from = [this.source, `${after.timeNs}`, `${after.seq}`];
    const [bound] = await this.statements.query<{ time_ns: string; seq: number }>(
      this.#bounds,
      [...from, count - 1],
    );
    const end = bound && { timeNs: BigInt(bound.time_ns), seq: BigInt(bound.seq) };
    const until = end ?? this.#order.last;
    const rows = await this.statements.query<PostgresRow>(
      this.#select,
      [...from, `${until.timeNs}`, `${until.seq}`, ...this.#values],
    );
    return { rows: rows.map(toRow).filter(this.#order.matches), end };
  }
}

/** What the matcher says, as far as SQL says the same; texts compare byte by byte there. */
function sqlCondition(
  filter: LogFilter,
  first: number,
): { condition: string; values: unknown[] } {
  const values: unknown[] = [];
  const place = (value: unknown) => `$${first + values.push(value) - 1}`;
  const conditions: string[] = [];
  const { levels = [], source } = filter;
  if (levels.length > 0) conditions.push(`level = ANY (${place([...levels])}::text[])`);
  if (source) {
    conditions.push(`(logger = ${place(source)} OR starts_with(logger, ${place(`${source}.`)}))`);
  }
  const text = filter.text?.toLowerCase();
  if (text && ASCII.test(text)) {
    const at = place(text);
    conditions.push(
      `(strpos(${lower("message")}, ${at}) > 0 OR strpos(${lower("logger")}, ${at}) > 0)`,
    );
  }
  return { condition: conditions.map((each) => ` AND ${each}`).join(""), values };
}

/** Of ASCII letters only, as SQLite does: half the time of what knows those of all languages. */
const lower = (column: string) => `lower(${column} COLLATE "C")`;

export function toRow({ time_ns, seq, ...rest }: PostgresRow): LogRow {
  return { ...rest, timeNs: BigInt(time_ns), seq: BigInt(seq) };
}
