import type { Clock } from "../../../shared/base/time/clock.ts";
import type { DirectStatements } from "../../storage/database/direct_statements.ts";
import { postgresCode } from "../../storage/database/postgres_failures.ts";
import { DAY_MS, dayOf, LogDays } from "./log_days.ts";
import type { LogLine } from "./log_line.ts";
import {
  type LineKey,
  type LogPage,
  type LogQuery,
  type LogStore,
  readPage,
  ROW_BYTES,
} from "./log_store.ts";
import {
  LINE_COLUMNS,
  PostgresLogSearch,
  type PostgresRow,
  type SearchedDays,
  toRow,
  usesIndex,
} from "./postgres_log_search.ts";

const INSERT_SLICE = 1_000;
const FIND_SLICE = 2_000;
/** Lines that go at once when a part has too many: a few, so that most of them stay. */
const TRIM_SLICE = 200;
/** The database looks through them, and this program continues. */
const PACE = { sliceLines: 10_000, pageMs: 250 };
const NO_PARTITION = "23514";

/** What was received, and when. */
interface Received {
  readonly line: LogLine;
  readonly atMs: number;
}

/**
 * {@link LogStore} in the database of several nodes: a table for each day, dropped when all of its
 * lines expire. Appending waits for no other writer.
 */
export class PostgresLogStore implements LogStore {
  readonly #sources = new Map<string, number>();
  readonly #days: LogDays;
  /** Sizes that the last statements counted, until somebody asks. */
  readonly #bytes = new Map<string, number>();

  constructor(private readonly statements: DirectStatements, private readonly clock: Clock) {
    this.#days = new LogDays(statements);
  }

  async append(
    partId: string,
    lines: readonly LogLine[],
    receivedAt = this.clock.now(),
  ): Promise<LogLine[]> {
    const atMs = receivedAt.getTime();
    const added = await this.#append(partId, lines.map((line) => ({ line, atMs })), dayOf(atMs));
    if (added.length > 0) await this.statements.settle();
    return added;
  }

  /** Like {@link append}, for lines of one day that were received at several times. */
  async take(partId: string, received: readonly Received[], day: number): Promise<void> {
    await this.#append(partId, received, day);
    await this.statements.settle();
  }

  async read(partId: string, query: LogQuery): Promise<LogPage> {
    const source = await this.#knownSource(partId);
    if (source === undefined) return { lines: [], next: undefined };
    const days = usesIndex(query.filter) ? await this.#searchedDays() : undefined;
    const search = new PostgresLogSearch(this.statements, source, query, days);
    return await readPage(search, query.limit, PACE, this.clock);
  }

  async find(partId: string, keys: readonly LineKey[]): Promise<LogLine[]> {
    const source = await this.#knownSource(partId);
    if (source === undefined) return [];
    const found: LogLine[] = [];
    for (let at = 0; at < keys.length; at += FIND_SLICE) {
      const some = keys.slice(at, at + FIND_SLICE);
      const rows = await this.statements.query<PostgresRow>(
        `SELECT ${LINE_COLUMNS} FROM log_lines WHERE source = $1 AND (time_ns, digest) IN
           (SELECT * FROM unnest($2::bigint[], $3::bigint[])) ORDER BY seq`,
        [source, some.map(({ timeNs }) => `${timeNs}`), some.map(({ digest }) => digest)],
      );
      found.push(...rows.map(toRow));
    }
    return found;
  }

  /**
   * Drops the days that are over since then; a line stays up to a day longer. Of others that are
   * over it makes an index of texts, see {@link LogDays.index}.
   */
  async deleteReceivedBefore(
    before: Date,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<number> {
    let deleted = 0;
    for (const day of await this.#days.all()) {
      if (signal?.aborted || (day + 1) * DAY_MS > before.getTime()) break;
      deleted += await this.#days.drop(day);
    }
    this.#bytes.clear();
    await this.#days.index(dayOf(this.clock.now().getTime()), signal);
    return deleted;
  }

  async keepWithin(partId: string, bytes: number): Promise<number> {
    const counted = this.#bytes.get(partId);
    this.#bytes.delete(partId);
    if (counted !== undefined && counted <= bytes) return 0;
    const source = await this.#knownSource(partId);
    let deleted = 0;
    while (source !== undefined && await this.bytesOf(partId) > bytes) {
      const lines = await this.#trim(source);
      if (lines === 0) break; // another node does it
      deleted += lines;
    }
    return deleted;
  }

  async bytesOf(partId: string): Promise<number> {
    const [row] = await this.statements.query<{ bytes: number }>(
      `SELECT coalesce(sum(bytes), 0) AS bytes FROM log_usage
       WHERE source = (SELECT number FROM log_sources WHERE part_id = $1)`,
      [partId],
    );
    return row?.bytes ?? 0;
  }

  close(): void {
    // The database is closed by who opened it.
  }

  /** Undefined: no day has an index of texts. */
  async #searchedDays(): Promise<SearchedDays | undefined> {
    const indexed = await this.#days.indexed();
    if (indexed.length === 0) return undefined;
    const plain = (await this.#days.all()).filter((day) => !indexed.includes(day));
    return { plain, indexed };
  }

  async #append(
    partId: string,
    received: readonly Received[],
    day: number,
  ): Promise<LogLine[]> {
    if (received.length === 0) return [];
    const source = await this.#sourceNumber(partId);
    const added: LogLine[] = [];
    for (let at = 0; at < received.length; at += INSERT_SLICE) {
      const slice = received.slice(at, at + INSERT_SLICE);
      const { keys, bytes } = await this.#insert(source, slice, day);
      this.#bytes.set(partId, bytes);
      added.push(...slice.map(({ line }) => line).filter((line) => keys.has(keyText(line))));
    }
    return added;
  }

  async #insert(
    source: number,
    received: readonly Received[],
    day: number,
  ): Promise<{ keys: Set<string>; bytes: number }> {
    const column = (text: (line: LogLine) => string | null) =>
      received.map(({ line }) => text(line)?.replaceAll("\0", "\ufffd") ?? null);
    const values = [
      day,
      source,
      firstDay(received, day),
      received.map(({ line }) => `${line.timeNs}`),
      received.map(({ line }) => line.digest),
      received.map(({ atMs }) => atMs),
      ...[
        column(({ level }) => level),
        column(({ logger }) => logger),
        column(({ message }) => message),
        column(({ host }) => host),
        column(({ caller }) => caller),
        column(({ stack }) => stack),
        column(({ fields }) => fields),
      ],
    ];
    const rows = await this.#inDay(
      day,
      () =>
        this.statements.query<{ timeNs: string; digest: number; total: number }>(APPEND, values),
    );
    const added = rows.filter(({ timeNs }) => timeNs !== null);
    return {
      keys: new Set(added.map(({ timeNs, digest }) => `${timeNs} ${digest}`)),
      bytes: rows[0]?.total ?? 0,
    };
  }

  async #inDay<T>(day: number, work: () => Promise<T>): Promise<T> {
    await this.#days.make(day);
    try {
      return await work();
    } catch (error) {
      if (postgresCode(error) !== NO_PARTITION) throw error;
      this.#days.forget(day);
      await this.#days.make(day);
      return await work();
    }
  }

  async #trim(source: number): Promise<number> {
    const [row] = await this.statements.query<{ lines: number }>(TRIM, [source, TRIM_SLICE]);
    return row?.lines ?? 0;
  }

  async #sourceNumber(partId: string): Promise<number> {
    const known = await this.#knownSource(partId);
    if (known !== undefined) return known;
    const [row] = await this.statements.query<{ number: number }>(
      `INSERT INTO log_sources (part_id) VALUES ($1)
       ON CONFLICT (part_id) DO UPDATE SET part_id = excluded.part_id RETURNING number`,
      [partId],
    );
    if (!row) throw new Error("the database gave no number for a part's log");
    this.#sources.set(partId, row.number);
    return row.number;
  }

  async #knownSource(partId: string): Promise<number | undefined> {
    const known = this.#sources.get(partId);
    if (known !== undefined) return known;
    const [row] = await this.statements.query<{ number: number }>(
      "SELECT number FROM log_sources WHERE part_id = $1",
      [partId],
    );
    if (row) this.#sources.set(partId, row.number);
    return row?.number;
  }
}

function keyText({ timeNs, digest }: LineKey): string {
  return `${timeNs} ${digest}`;
}

/**
 * The first day on which a line that is sent again can have come: not before it was said, by a
 * clock that is a day off at most. A line of a later time is looked for on all days.
 */
function firstDay(received: readonly Received[], day: number): number {
  let first = day;
  for (const { line } of received) {
    const said = Number(line.timeNs / 1_000_000n);
    const earliest = said > (day + 2) * DAY_MS ? 0 : Math.max(0, dayOf(said) - 1);
    first = Math.min(first, earliest);
  }
  return first;
}

/**
 * Keeps what is not there, on this day or an earlier one, and counts it. It does not wait for the
 * disk. One row for each line that was added; one without a line when there was none.
 */
const APPEND = `
  WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
  added AS (
    INSERT INTO log_lines (day, source, time_ns, digest, received_at,
        level, logger, message, host, caller, stack, fields)
      SELECT $1, $2, given.time_ns, given.digest, given.received_at,
          level, logger, message, host, caller, stack, fields
        FROM quick, unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
            $9::text[], $10::text[], $11::text[], $12::text[], $13::text[]) WITH ORDINALITY
          AS given (time_ns, digest, received_at,
            level, logger, message, host, caller, stack, fields, place)
        WHERE NOT EXISTS (SELECT 1 FROM log_lines AS before
          WHERE before.source = $2 AND before.time_ns = given.time_ns
            AND before.digest = given.digest AND before.day >= $3 AND before.day < $1)
        ORDER BY place
      ON CONFLICT (source, time_ns, digest, day) DO NOTHING
      RETURNING time_ns, digest, ${ROW_BYTES} AS bytes
  ),
  counted AS (
    INSERT INTO log_usage (source, day, lines, bytes)
      SELECT $2, $1, count(*), sum(bytes) FROM added HAVING count(*) > 0
      ON CONFLICT (source, day) DO UPDATE SET lines = log_usage.lines + excluded.lines,
        bytes = log_usage.bytes + excluded.bytes
  ),
  total AS (
    SELECT coalesce((SELECT sum(bytes) FROM log_usage WHERE source = $2), 0) +
      coalesce((SELECT sum(bytes) FROM added), 0) AS total
  )
  SELECT time_ns::text AS "timeNs", digest, total FROM total LEFT JOIN added ON true`;

const TRIM = `
  WITH oldest AS MATERIALIZED (
    SELECT day, time_ns, seq FROM log_lines WHERE source = $1 ORDER BY time_ns, seq LIMIT $2
  ),
  gone AS (
    DELETE FROM log_lines USING oldest
      WHERE log_lines.source = $1 AND log_lines.day = oldest.day
        AND log_lines.time_ns = oldest.time_ns AND log_lines.seq = oldest.seq
      RETURNING log_lines.day, ${ROW_BYTES} AS bytes
  ),
  counts AS (SELECT day, count(*) AS lines, sum(bytes) AS bytes FROM gone GROUP BY day),
  counted AS (
    UPDATE log_usage SET lines = log_usage.lines - counts.lines,
        bytes = log_usage.bytes - counts.bytes
      FROM counts WHERE log_usage.source = $1 AND log_usage.day = counts.day
  )
  SELECT coalesce(sum(lines), 0) AS lines FROM counts`;
