import { join } from "node:path";
import { closeSqlite, type Database, openSqlite } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { LogLine } from "./log_line.ts";
import { logMigrations } from "./log_migrations.ts";
import {
  bytesOfLine,
  type LineKey,
  type LogPage,
  type LogQuery,
  type LogStore,
  readPage,
  ROW_BYTES,
} from "./log_store.ts";
import { LINE_COLUMNS, SqliteLogSearch, type StoredRow, toRow } from "./sqlite_log_search.ts";

type Values = (string | number | bigint | null)[];

const INSERT_SLICE = 500;
/** The program stands still for a slice: a few milliseconds. */
const PACE = { sliceLines: 4_000, pageMs: 60 };
const DELETE_SLICE = 1_000;
/** Lines that go at once when a part has too many: a few, so that most of them stay. */
const TRIM_SLICE = 200;

/** {@link LogStore} in `logs.db`, a database of its own. */
export class SqliteLogStore implements LogStore {
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
    this.#insertAll = database.transaction(
      (source: number, lines: readonly LogLine[], receivedAt: Date) =>
        this.#insertLines(source, lines, receivedAt),
    );
  }

  /** Opens or creates `logs.db` in a folder. Throws `StoreError` with what to do. */
  static open(dataDir: string, clock: Clock): SqliteLogStore {
    const path = join(dataDir, "logs.db");
    const options = { migrations: logMigrations, synchronous: "NORMAL", name: "logs" } as const;
    return new SqliteLogStore(openSqlite(path, options), clock);
  }

  async append(
    partId: string,
    lines: readonly LogLine[],
    receivedAt = this.clock.now(),
  ): Promise<LogLine[]> {
    const source = this.#sourceNumber(partId);
    const added: LogLine[] = [];
    for (let at = 0; at < lines.length; at += INSERT_SLICE) {
      if (at > 0) await this.clock.sleep(0);
      added.push(...this.#insertAll(source, lines.slice(at, at + INSERT_SLICE), receivedAt));
    }
    return added;
  }

  async read(partId: string, query: LogQuery): Promise<LogPage> {
    const source = this.#knownSource(partId);
    if (source === undefined) return { lines: [], next: undefined };
    const search = new SqliteLogSearch(this.database, source, query);
    return await readPage(search, query.limit, PACE, this.clock);
  }

  find(partId: string, keys: readonly LineKey[]): Promise<LogLine[]> {
    const source = this.#knownSource(partId) ?? -1;
    const one = this.database.prepare<[number, bigint, number], StoredRow>(
      `SELECT ${LINE_COLUMNS} FROM lines WHERE source = ? AND time_ns = ? AND digest = ?`,
    ).safeIntegers(true);
    const rows = keys.flatMap(({ timeNs, digest }) => one.all(source, timeNs, digest).map(toRow));
    return Promise.resolve(rows.sort((a, b) => Number(a.seq - b.seq)));
  }

  /** Oldest first, in small slices; lines of a clock that was ahead are passed over. */
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

  async keepWithin(partId: string, bytes: number): Promise<number> {
    const source = this.#knownSource(partId);
    if (source === undefined) return 0;
    const where = `seq IN (
      SELECT seq FROM lines INDEXED BY lines_in_order WHERE source = ?
      ORDER BY time_ns, seq LIMIT ?)`;
    let deleted = 0;
    while (this.#bytesOf(partId) > bytes) {
      if (deleted > 0) await this.clock.sleep(0);
      const changes = this.#deleteAll(where, [source, TRIM_SLICE]);
      deleted += changes;
      if (changes === 0) break;
    }
    return deleted;
  }

  bytesOf(partId: string): Promise<number> {
    return Promise.resolve(this.#bytesOf(partId));
  }

  #bytesOf(partId: string): number {
    const statement = this.database
      .prepare<[string], { bytes: number }>("SELECT bytes FROM sources WHERE part_id = ?");
    return statement.get(partId)?.bytes ?? 0;
  }

  close(): void {
    closeSqlite(this.database);
  }

  #insertLines(source: number, lines: readonly LogLine[], receivedAt: Date): LogLine[] {
    const added = lines.filter((line) =>
      this.#insert.run(
        source,
        line.timeNs,
        line.digest,
        receivedAt.getTime(),
        line.level,
        line.logger,
        line.message,
        line.host,
        line.caller,
        line.stack,
        line.fields,
      ).changes > 0
    );
    this.#addBytes(source, added.reduce((sum, line) => sum + bytesOfLine(line), 0));
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
