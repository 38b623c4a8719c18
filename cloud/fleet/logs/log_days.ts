import type { DirectStatements } from "../../storage/database/direct_statements.ts";

export const DAY_MS = 24 * 60 * 60_000;

/** One name for all tables of days: `log_lines_20453`, by days since 1970. */
const PREFIX = "log_lines_";

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
