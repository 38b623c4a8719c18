/**
 * Readings lie in tables of one week each, `tabular_readings_N` with the weeks since 1970, by when
 * they were captured. What no week has is in `tabular_readings_other`: clocks may be wrong, and what
 * comes after its week is gone. Queries name `tabular_readings`, of which all of them are parts.
 */

/** Microseconds. */
export const WEEK_US = 7 * 24 * 3_600 * 1_000_000;

/** What every name begins with, and the table that queries name. */
export const READINGS_TABLE = "tabular_readings";
/** What is in no week. */
export const OTHER_READINGS = `${READINGS_TABLE}_other`;

/** Weeks since 1970 of a time in microseconds since then. */
export function weekOf(us: number): number {
  return Math.floor(us / WEEK_US);
}

/** The end of the name of a table that no query reads any more. */
export const EXPIRED_SUFFIX = "_expired";

/** Of tables that were taken out and not dropped yet: what they have is counted in `data_usage`. */
export const EXPIRED_TABLES = `SELECT relname AS name FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND relname ~ '^${READINGS_TABLE}_[a-z0-9]+${EXPIRED_SUFFIX}$'`;

export function weekTable(week: number): string {
  return `${READINGS_TABLE}_${week}`;
}

/**
 * A statement that makes the table of a week when it is not there, with what had to lie elsewhere
 * until now. Two nodes may do that at once. Who reads or writes readings waits while what has no week
 * is looked through, a second for some million.
 */
export function makeWeek(week: number): string {
  const [table, from, to] = [weekTable(week), week * WEEK_US, (week + 1) * WEEK_US];
  return `DO $$
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ' weeks of readings', 0));
      IF to_regclass('${table}') IS NULL THEN
        -- Who began before the rows moved would look for them where they were.
        LOCK TABLE ONLY ${READINGS_TABLE} IN ACCESS EXCLUSIVE MODE;
        LOCK TABLE ${OTHER_READINGS} IN ACCESS EXCLUSIVE MODE;
        CREATE TABLE ${table} (LIKE ${READINGS_TABLE} INCLUDING ALL);
        WITH found AS (
          DELETE FROM ${OTHER_READINGS} WHERE received_us >= ${from} AND received_us < ${to}
          RETURNING *
        ) INSERT INTO ${table} SELECT * FROM found;
        ALTER TABLE ${READINGS_TABLE} ATTACH PARTITION ${table} FOR VALUES FROM (${from}) TO (${to});
      END IF;
    END $$`;
}

/**
 * A statement that begins what reads at one moment: before that moment is chosen, so that a week
 * which goes meanwhile is whole, with what is kept of it.
 */
export const HOLD_READINGS = `LOCK TABLE ONLY ${READINGS_TABLE} IN ACCESS SHARE MODE`;
