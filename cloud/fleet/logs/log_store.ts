import { Buffer } from "node:buffer";
import { join } from "node:path";
import { closeSqlite, type Database, openSqlite } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { LogLine } from "./log_line.ts";
import { logMigrations } from "./log_migrations.ts";
import { LINE_BYTES } from "./log_quota.ts";
import { type LogPage, type LogQuery, LogSearch } from "./log_search.ts";

type Values = (string | number | bigint | null)[];

const INSERT_SLICE = 500;
/** A few milliseconds of search. */
const READ_SLICE = 4_000;
/** How long one page searches, milliseconds. */
const PAGE_MS = 60;
const DELETE_SLICE = 1_000;
/** Lines that go at once when a part has too many: a few, so that most of them stay. */
const TRIM_SLICE = 200;

/** Bytes that a row counts for in `sources.bytes`. */
const ROW_BYTES = `${LINE_BYTES} + octet_length(level) + octet_length(logger) +
  octet_length(message) + octet_length(host) + coalesce(octet_length(caller), 0) +
  coalesce(octet_length(stack), 0) + coalesce(octet_length(fields), 0)`;

/**
 * The log lines of all machines, in a database of their own. Statements are short: a long batch or
 * a search through many lines lets other work in between. A line that is sent again, because its
 * answer was lost, is kept once.
 */
export class LogStore {
  readonly #sources = new Map<string, number>();
  /** Lines up to this one came by a clock that was ahead. */
  #passedOver = 0;
  readonly #insert;
  readonly #insertAll;
  readonly #deleteAll;
  readonly #countBytes;

  private constructor(private readonly database: Database, private readonly clock: Clock) {
    this.#insert = database.prepare<Values>(`
      INSERT OR IGNORE INTO lines
        (source, time_ns, digest, received_at, level, logger, message, host, caller, stack, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#countBytes = database.prepare<[number, number]>(
      "UPDATE sources SET bytes = bytes + ? WHERE number = ?",
    );
    this.#deleteAll = database.transaction((where: string, values: Values) =>
      this.#deleteLines(where, values)
    );
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

  /**
   * A page of lines. A search through many lines ends its page after {@link PAGE_MS}, perhaps with
   * no line at all, and says where to continue.
   */
  async read(partId: string, query: LogQuery): Promise<LogPage> {
    const source = this.#knownSource(partId);
    if (source === undefined) return { lines: [], next: undefined };
    const search = new LogSearch(this.database, source, query);
    const startedMs = this.clock.monotonicMs();
    const lines: LogLine[] = [];
    for (let position = search.start, size = query.limit + 1;; size = READ_SLICE) {
      const slice = search.slice(position, Math.min(size, READ_SLICE));
      for (const row of slice.rows) {
        if (lines.length === query.limit) return { lines, next: position };
        lines.push(row);
        position = row;
      }
      if (slice.end === undefined) return { lines, next: undefined };
      position = slice.end;
      if (this.clock.monotonicMs() - startedMs > PAGE_MS) return { lines, next: position };
      await this.clock.sleep(0);
    }
  }

  /**
   * Deletes lines that were received before a time, oldest first, in small slices. Lines of a clock
   * that was ahead are passed over: those behind them are not kept for their sake.
   *
   * @param ahead what came later than this came by a wrong clock; left out: nothing did
   * @returns how many
   */
  async deleteReceivedBefore(
    before: Date,
    { ahead, signal }: { readonly ahead?: Date; readonly signal?: AbortSignal } = {},
  ): Promise<number> {
    const where = `seq IN (
      SELECT seq FROM (SELECT seq, received_at FROM lines WHERE seq > ? ORDER BY seq LIMIT ?)
      WHERE received_at < ?)`;
    let deleted = 0;
    while (!signal?.aborted) {
      const changes = this.#deleteAll(where, [this.#passedOver, DELETE_SLICE, before.getTime()]);
      deleted += changes;
      if (changes < DELETE_SLICE && !(ahead && this.#passOver(ahead.getTime()))) break;
      await this.clock.sleep(5);
    }
    return deleted;
  }

  /** Whether lines of a wrong clock were the oldest ones. */
  #passOver(aheadMs: number): boolean {
    const slice = "SELECT seq, received_at FROM lines WHERE seq > ? ORDER BY seq LIMIT ?";
    const { first, right, last } = this.database.prepare<
      [number, number, number],
      { first: number | null; right: number | null; last: number | null }
    >(`SELECT min(seq) AS first, max(seq) AS last,
      min(CASE WHEN received_at <= ? THEN seq END) AS right FROM (${slice})`)
      .get(aheadMs, this.#passedOver, DELETE_SLICE) ?? { first: null, right: null, last: null };
    if (first === null || last === null || right === first) return false;
    this.#passedOver = right === null ? last : right - 1;
    return true;
  }

  /**
   * Deletes lines of a part, oldest first, until it has no more than `bytes` of them. Returns how
   * many went.
   */
  async keepWithin(partId: string, bytes: number): Promise<number> {
    const source = this.#knownSource(partId);
    if (source === undefined) return 0;
    const where = `seq IN (
      SELECT seq FROM lines INDEXED BY lines_in_order WHERE source = ?
      ORDER BY time_ns, seq LIMIT ?)`;
    let deleted = 0;
    while (this.bytesOf(partId) > bytes) {
      if (deleted > 0) await this.clock.sleep(0);
      const changes = this.#deleteAll(where, [source, TRIM_SLICE]);
      deleted += changes;
      if (changes === 0) break;
    }
    return deleted;
  }

  /** Bytes of the lines that are kept of a part, with what each takes next to its texts. */
  bytesOf(partId: string): number {
    const statement = this.database
      .prepare<[string], { bytes: number }>("SELECT bytes FROM sources WHERE part_id = ?");
    return statement.get(partId)?.bytes ?? 0;
  }

  close(): void {
    closeSqlite(this.database);
  }

  #insertLines(source: number, lines: readonly LogLine[]): LogLine[] {
    const receivedAt = this.clock.now().getTime();
    const added = lines.filter((line) =>
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
    this.#addBytes(source, added.reduce((sum, line) => sum + rowBytes(line), 0));
    return added;
  }

  /** Deletes what a condition says; returns how many lines went. */
  #deleteLines(where: string, values: Values): number {
    const gone = this.database
      .prepare<Values, { source: number; bytes: number }>(
        `DELETE FROM lines WHERE ${where} RETURNING source, ${ROW_BYTES} AS bytes`,
      ).all(...values);
    const bySource = new Map<number, number>();
    for (const { source, bytes } of gone) {
      bySource.set(source, (bySource.get(source) ?? 0) + bytes);
    }
    for (const [source, bytes] of bySource) this.#addBytes(source, -bytes);
    return gone.length;
  }

  #addBytes(source: number, bytes: number): void {
    this.#countBytes.run(bytes, source);
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
}

/** The same in JavaScript as {@link ROW_BYTES} in SQL. */
function rowBytes(line: LogLine): number {
  const texts = [line.level, line.logger, line.message, line.host];
  for (const text of [line.caller, line.stack, line.fields]) if (text !== null) texts.push(text);
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), LINE_BYTES);
}
