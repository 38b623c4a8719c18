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
const OTHER_READINGS = `${READINGS_TABLE}_other`;

/** Weeks since 1970 of a time in microseconds since then. */
export function weekOf(us: number): number {
  return Math.floor(us / WEEK_US);
}

export function weekTable(week: number): string {
  return `${READINGS_TABLE}_${week}`;
}

/**
 * A statement that makes the table of a week when it is not there, with what had to lie elsewhere
 * until now. Two nodes may do that at once. Who reads waits only while rows without a week are looked
 * through; after a quarter of a second without its locks it fails.
 */
export function makeWeek(week: number): string {
  const [table, from, to] = [weekTable(week), week * WEEK_US, (week + 1) * WEEK_US];
  return `DO $$
    BEGIN
      PERFORM set_config('lock_timeout', '250ms', true);
      PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ' weeks of readings', 0));
      IF to_regclass('${table}') IS NULL THEN
        LOCK TABLE ONLY ${READINGS_TABLE} IN SHARE UPDATE EXCLUSIVE MODE;
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
