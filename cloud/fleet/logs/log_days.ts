import type { DirectStatements } from "../../storage/database/direct_statements.ts";

export const DAY_MS = 24 * 60 * 60_000;

/** One name for all tables of days: `log_lines_20453`, by days since 1970. */
const PREFIX = "log_lines_";

/** Ends the names of indexes of texts: `log_lines_20453_texts`. */
const TEXTS = "_texts";

/**
 * A column with its letters as small ones: of ASCII only, as in SQLite, which takes half the time of
 * what knows the letters of all languages.
 */
export function asciiLower(column: string): string {
  return `lower(${column} COLLATE "C")`;
}

/** Days since 1970 of a time in milliseconds since then. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}

/** The tables that hold the lines of one day each, by when they were received. */
export class LogDays {
  readonly #made = new Set<number>();

  constructor(private readonly statements: DirectStatements) {}

  /** Makes the table of a day when it is not there; two nodes may do that at once. */
  async make(day: number): Promise<void> {
    if (this.#made.has(day)) return;
    await this.statements.script(`
      SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' days of logs', 0));
      CREATE TABLE IF NOT EXISTS ${PREFIX}${day} PARTITION OF log_lines
        FOR VALUES FROM (${day}) TO (${day + 1});`);
    this.#made.add(day);
  }

  /** Another node may have dropped its table. */
  forget(day: number): void {
    this.#made.delete(day);
  }

  /** The days that have a table, oldest first. */
  async all(): Promise<number[]> {
    const rows = await this.statements.query<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
       WHERE inhparent = 'log_lines'::regclass`,
    );
    return rows.map(({ name }) => Number(name.slice(PREFIX.length))).sort((a, b) => a - b);
  }

  /** The days whose texts have an index, oldest first. */
  async indexed(): Promise<number[]> {
    return await this.#indexed(true);
  }

  /**
   * Makes indexes of the texts of days that are over, where the database has the extension pg_trgm:
   * nothing is appended to them, and appending to a table with such an index takes several times as
   * long. Others read and write meanwhile.
   */
  async index(today: number, signal?: AbortSignal): Promise<void> {
    const [trigrams] = await this.statements.query<{ schema: string }>(
      `SELECT quote_ident(nspname) AS schema FROM pg_extension
       JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm'`,
    );
    if (!trigrams) return;
    const building = await this.#building();
    // Of a node that was killed. Not to be waited for by those who read.
    for (const day of await this.#indexed(false)) {
      if (building.has(day)) continue;
      const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${PREFIX}${day}${TEXTS}`;
      await this.statements.alone(drop, signal);
    }
    const done = new Set(await this.indexed());
    for (const day of await this.all()) {
      if (day >= today || done.has(day) || building.has(day)) continue;
      if (signal?.aborted) return;
      const columns = ["message", "logger"].map((column) =>
        `${asciiLower(column)} ${trigrams.schema}.gin_trgm_ops`
      );
      await this.statements.alone(
        `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${PREFIX}${day}${TEXTS}
         ON ${PREFIX}${day} USING gin (${columns.join(", ")})`,
        signal,
      );
      await this.statements.alone(`ANALYZE ${PREFIX}${day}`, signal);
    }
  }

  /** Days whose index the database is making: for a node that is gone it does so to the end. */
  async #building(): Promise<Set<number>> {
    const rows = await this.statements.query<{ name: string }>(
      `SELECT relname AS name FROM pg_stat_progress_create_index AS building
       JOIN pg_class ON pg_class.oid = building.relid JOIN pg_inherits ON inhrelid = pg_class.oid
       WHERE building.datname = current_database() AND inhparent = 'log_lines'::regclass`,
    );
    return new Set(rows.map(({ name }) => Number(name.slice(PREFIX.length))));
  }

  async #indexed(isValid: boolean): Promise<number[]> {
    const rows = await this.statements.query<{ name: string }>(
      `SELECT index.relname AS name FROM pg_inherits
       JOIN pg_index ON indrelid = inhrelid JOIN pg_class AS index ON index.oid = indexrelid
       WHERE inhparent = 'log_lines'::regclass AND index.relname LIKE '%${TEXTS}'
         AND indisvalid = $1`,
      [isValid],
    );
    const days = rows.map(({ name }) => Number(name.slice(PREFIX.length, -TEXTS.length)));
    return days.sort((a, b) => a - b);
  }

  /** Drops the lines of a day. Returns how many there were. */
  async drop(day: number): Promise<number> {
    this.forget(day);
    await this.statements.script(`DROP TABLE IF EXISTS ${PREFIX}${day}`);
    const rows = await this.statements.query<{ lines: number }>(
      "DELETE FROM log_usage WHERE day = $1 RETURNING lines",
      [day],
    );
    return rows.reduce((sum, { lines }) => sum + lines, 0);
  }
}
