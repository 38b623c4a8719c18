import type { DirectStatements } from "../../storage/database/direct_statements.ts";
import { asciiLower } from "./log_days.ts";
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

/** The days that there are, by whether their texts have an index. */
export interface SearchedDays {
  readonly plain: readonly number[];
  readonly indexed: readonly number[];
}

/** What a trigram is made of; no index finds a text without one. */
const TRIGRAM = /[a-z0-9]{3}/;

/** Whether an index of texts helps to find what is requested. */
export function usesIndex(filter: LogFilter): boolean {
  const text = filter.text?.toLowerCase();
  return text !== undefined && TRIGRAM.test(text) && ASCII.test(text);
}

/**
 * A search in the tables of all days. Slices count lines of days without an index of texts; what the
 * others have between the first and the last line of a slice is found by their indexes.
 */
export class PostgresLogSearch implements LogSearch {
  readonly start: LogPosition;
  readonly #order: SearchOrder;
  readonly #bounds: string;
  readonly #select: string;
  readonly #selectIndexed: string | undefined;
  readonly #pattern: string = "";
  readonly #values: readonly unknown[];

  /** @param days left out: of all days, no index helps */
  constructor(
    private readonly statements: DirectStatements,
    private readonly source: number,
    query: LogQuery,
    days?: SearchedDays,
  ) {
    const { filter } = query;
    const { start, beyond, upTo, order, within } = this.#order = searchOrder(query);
    this.start = start;
    const all = `FROM log_lines WHERE source = $1 AND (time_ns, seq) ${beyond} ($2, $3)${within}`;
    const from = days ? `${all} AND (${plainDays(days)})` : all;
    // The column, not the text of the same name.
    const ordered = `ORDER BY log_lines.time_ns ${order}, seq ${order}`;
    this.#bounds = `SELECT time_ns::text, seq ${from} ${ordered} LIMIT 1 OFFSET $4`;
    const { condition, values } = sqlCondition(filter, 6);
    this.#values = values;
    const rest = `AND (time_ns, seq) ${upTo} ($4, $5)${condition}`;
    this.#select = `SELECT ${LINE_COLUMNS} ${from} ${rest} ${ordered}`;
    if (days) {
      const text = `$${6 + values.length}`;
      const has = ["message", "logger"].map((column) => `${asciiLower(column)} LIKE ${text}`);
      this.#selectIndexed = `SELECT ${LINE_COLUMNS} ${all} AND day IN (${days.indexed.join()})
        AND (${has.join(" OR ")}) ${rest} ${ordered} LIMIT $${7 + values.length}`;
      this.#pattern = `%${filter.text?.toLowerCase().replaceAll(/[\\%_]/g, "\\$&")}%`;
    }
  }

  async slice(after: LogPosition, count: number): Promise<LogSlice> {
    const from = [this.source, `${after.timeNs}`, `${after.seq}`];
    const [bound] = await this.statements.query<{ time_ns: string; seq: number }>(
      this.#bounds,
      [...from, count - 1],
    );
    const end = bound && { timeNs: BigInt(bound.time_ns), seq: BigInt(bound.seq) };
    const until = end ?? this.#order.last;
    const values = [...from, `${until.timeNs}`, `${until.seq}`, ...this.#values];
    const rows = await this.#rows(this.#select, values);
    if (this.#selectIndexed === undefined) return { rows: rows.filter(this.#order.matches), end };
    const indexed = await this.#rows(this.#selectIndexed, [...values, this.#pattern, count]);
    const merged = [...rows, ...indexed].filter(this.#order.matches).sort((a, b) =>
      this.#compare(a, b)
    );
    const last = indexed.length < count ? undefined : indexed.at(-1);
    if (!last) return { rows: merged, end };
    return { rows: merged.filter((row) => this.#compare(row, last) <= 0), end: last };
  }

  async #rows(sql: string, values: readonly unknown[]): Promise<LogRow[]> {
    const rows = await this.statements.query<PostgresRow>(sql, values);
    return rows.map(toRow);
  }

  /** Of two lines as they are requested. */
  #compare(a: LogPosition, b: LogPosition): number {
    const isAfter = a.timeNs === b.timeNs ? a.seq > b.seq : a.timeNs > b.timeNs;
    const isSame = a.timeNs === b.timeNs && a.seq === b.seq;
    if (isSame) return 0;
    return isAfter === (this.#order.order === "DESC") ? -1 : 1;
  }
}

/** Those that are known, and any that another node makes meanwhile. */
function plainDays({ plain, indexed }: SearchedDays): string {
  const newest = Math.max(...plain, ...indexed);
  const known = plain.length === 0 ? "" : `day IN (${plain.join()}) OR `;
  return `${known}day > ${newest}`;
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
    const has = ["message", "logger"].map((column) => `strpos(${asciiLower(column)}, ${at}) > 0`);
    conditions.push(`(${has.join(" OR ")})`);
  }
  return { condition: conditions.map((each) => ` AND ${each}`).join(""), values };
}

export function toRow({ time_ns, seq, ...rest }: PostgresRow): LogRow {
  return { ...rest, timeNs: BigInt(time_ns), seq: BigInt(seq) };
}
