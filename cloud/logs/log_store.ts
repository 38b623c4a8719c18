import { join } from "node:path";
import { closeSqlite, type Database, openSqlite } from "../../shared/store/sqlite.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { type LogFilter, matcher } from "./log_filter.ts";
import type { LogLine } from "./log_line.ts";
import { logMigrations } from "./log_migrations.ts";

/** A place between two lines, as far as a page reaches. */
export interface LogPosition {
  readonly timeNs: bigint;
  readonly seq: bigint;
}

export interface LogPage {
  readonly lines: readonly LogLine[];
  /** Where the next page goes on; undefined when there is none. */
  readonly next: LogPosition | undefined;
}

export interface LogQuery {
  readonly filter: LogFilter;
  readonly limit: number;
  readonly after?: LogPosition | undefined;
  /** Default newest first. */
  readonly order?: "newest-first" | "oldest-first";
}

type Row = LogLine & { readonly seq: bigint };
type Values = (string | number | bigint | null)[];

const INSERT_SLICE = 500;
const READ_SLICE = 2_000;
/** Lines that one page looks at, at most; a page that ends here says where to go on. */
const LOOKED_AT_PER_PAGE = 1_000_000;
const DELETE_SLICE = 1_000;

/**
 * The log lines of all machines, in a database of their own. Statements are short: a long batch or
 * a search through many lines lets other work in between. A line that is sent again, because its
 * answer was lost, is kept once.
 */
export class LogStore {
  readonly #sources = new Map<string, number>();
  readonly #insert;
  readonly #insertAll;

  private constructor(private readonly database: Database, private readonly clock: Clock) {
    this.#insert = database.prepare<Values>(`
      INSERT OR IGNORE INTO lines
        (source, time_ns, digest, received_at, level, logger, message, host, caller, stack, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#insertAll = database.transaction((source: number, lines: readonly LogLine[]) =>
      this.#insertLines(source, lines)
    );
  }

  /** Opens or creates `logs.db` in a folder. Throws `StoreError` with what to do. */
  static open(dataDir: string, clock: Clock): LogStore {
    const path = join(dataDir, "logs.db");
    const options = { migrations: logMigrations, synchronous: "NORMAL", name: "logs" } as const;
    return new LogStore(openSqlite(path, options), clock);
  }

  /** Stores lines of a part; gives back those that were not there yet. */
  async append(partId: string, lines: readonly LogLine[]): Promise<LogLine[]> {
    const source = this.#sourceNumber(partId);
    const added: LogLine[] = [];
    for (let at = 0; at < lines.length; at += INSERT_SLICE) {
      if (at > 0) await this.clock.sleep(0);
      added.push(...this.#insertAll(source, lines.slice(at, at + INSERT_SLICE)));
    }
    return added;
  }

  async read(partId: string, query: LogQuery): Promise<LogPage> {
    const source = this.#knownSource(partId);
    if (source === undefined) return { lines: [], next: undefined };
    const newestFirst = query.order !== "oldest-first";
    const select = this.#selectAfter(newestFirst);
    const matches = matcher(query.filter);
    let position = startOf(query, newestFirst);
    const lines: LogLine[] = [];
    for (let looked = 0; looked < LOOKED_AT_PER_PAGE;) {
      // What matches everything is found at once; what is rare needs large slices.
      const slice = looked === 0 ? Math.min(query.limit + 1, READ_SLICE) : READ_SLICE;
      const rows = select.all(source, position.timeNs, position.seq, slice).map(toRow);
      for (const row of rows) {
        if (isBeyond(row, query.filter, newestFirst)) return { lines, next: undefined };
        if (matches(row)) {
          if (lines.length === query.limit) return { lines, next: position };
          lines.push(row);
        }
        position = row;
      }
      if (rows.length < slice) return { lines, next: undefined };
      looked += rows.length;
      await this.clock.sleep(0);
    }
    return { lines, next: position };
  }

  /**
   * Deletes lines that were received before a time, oldest first, in small slices.
   * Returns how many.
   */
  async deleteReceivedBefore(before: Date, signal?: AbortSignal): Promise<number> {
    const statement = this.database.prepare<[number, number]>(`
      DELETE FROM lines WHERE seq IN (
        SELECT seq FROM (SELECT seq, received_at FROM lines ORDER BY seq LIMIT ?)
        WHERE received_at < ?)`);
    let deleted = 0;
    while (!signal?.aborted) {
      const { changes } = statement.run(DELETE_SLICE, before.getTime());
      deleted += changes;
      if (changes < DELETE_SLICE) break;
      await this.clock.sleep(5);
    }
    return deleted;
  }

  close(): void {
    closeSqlite(this.database);
  }

  #insertLines(source: number, lines: readonly LogLine[]): LogLine[] {
    const receivedAt = this.clock.now().getTime();
    return lines.filter((line) =>
      this.#insert.run(
        source,
        line.timeNs,
        line.digest,
        receivedAt,
        line.level,
        line.logger,
        line.message,
        line.host,
        line.caller,
        line.stack,
        line.fields,
      ).changes > 0
    );
  }

  #sourceNumber(partId: string): number {
    const known = this.#knownSource(partId);
    if (known !== undefined) return known;
    const number = Number(
      this.database.prepare<[string]>("INSERT INTO sources (part_id) VALUES (?)").run(partId)
        .lastInsertRowid,
    );
    this.#sources.set(partId, number);
    return number;
  }

  #knownSource(partId: string): number | undefined {
    const known = this.#sources.get(partId);
    if (known !== undefined) return known;
    const row = this.database
      .prepare<[string], { number: number }>("SELECT number FROM sources WHERE part_id = ?")
      .get(partId);
    if (row) this.#sources.set(partId, row.number);
    return row?.number;
  }

  #selectAfter(newestFirst: boolean) {
    const [beyond, order] = newestFirst ? ["<", "DESC"] : [">", "ASC"];
    return this.database.prepare<[number, bigint, bigint, number], StoredRow>(`
      SELECT seq, time_ns, digest, level, logger, message, host, caller, stack, fields
      FROM lines INDEXED BY lines_in_order
      WHERE source = ? AND (time_ns, seq) ${beyond} (?, ?)
      ORDER BY time_ns ${order}, seq ${order} LIMIT ?`).safeIntegers(true);
  }
}

interface StoredRow {
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

const LAST = (1n << 63n) - 1n;

function startOf({ after, filter }: LogQuery, newestFirst: boolean): LogPosition {
  if (after) return after;
  return newestFirst
    ? { timeNs: filter.toNs ?? LAST, seq: filter.toNs === undefined ? LAST : -1n }
    : { timeNs: filter.fromNs ?? -LAST, seq: -1n };
}

/** Whether neither this line nor any after it lies in the asked time. */
function isBeyond(line: Row, filter: LogFilter, newestFirst: boolean): boolean {
  return newestFirst
    ? filter.fromNs !== undefined && line.timeNs < filter.fromNs
    : filter.toNs !== undefined && line.timeNs >= filter.toNs;
}

function toRow(stored: StoredRow): Row {
  const { time_ns: timeNs, digest, ...rest } = stored;
  return { ...rest, timeNs, digest: Number(digest) };
}
