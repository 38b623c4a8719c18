import type { Migration } from "../../../shared/base/store/sqlite.ts";
import { logMigration } from "../database/log_migration.ts";
import { weekMigration } from "../database/week_migration.ts";
import { toPostgres } from "./translate.ts";

/** A table for each day is made when its first line comes. */
const LOG_TABLES = `
  CREATE TABLE log_sources (number INTEGER PRIMARY KEY, part_id TEXT NOT NULL UNIQUE);
  CREATE TABLE log_usage (
    source INTEGER NOT NULL,
    day INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (source, day)
  );
  CREATE INDEX log_usage_by_day ON log_usage (day);
  CREATE SEQUENCE log_seq;
  CREATE TABLE log_lines (
    -- Days since 1970, by received_at.
    day INTEGER NOT NULL,
    source INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    seq INTEGER NOT NULL DEFAULT nextval('log_seq'),
    received_at INTEGER NOT NULL,
    level TEXT NOT NULL,
    logger TEXT NOT NULL,
    message TEXT NOT NULL,
    host TEXT NOT NULL,
    caller TEXT,
    stack TEXT,
    fields TEXT
  ) PARTITION BY RANGE (day);
  CREATE UNIQUE INDEX log_lines_once ON log_lines (source, time_ns, digest, day);
  CREATE INDEX log_lines_in_order ON log_lines (source, time_ns, seq);
`;

/**
 * What was there becomes the table of all times before the next week, without being copied; it is
 * read twice. The weeks are those of `week_tables.ts`.
 */
const READING_WEEKS = `
  ALTER TABLE tabular_readings RENAME TO tabular_readings_before;
  ALTER TABLE tabular_readings_before
    RENAME CONSTRAINT tabular_readings_pkey TO tabular_readings_before_pkey;
  CREATE TABLE tabular_readings (LIKE tabular_readings_before INCLUDING ALL)
    PARTITION BY RANGE (received_us);
  CREATE TABLE tabular_readings_other PARTITION OF tabular_readings DEFAULT;
  CREATE INDEX tabular_readings_other_by_time ON tabular_readings_other (received_us);
  -- Of which week uploads have readings: a few bytes for each hundred.
  CREATE INDEX data_uploads_by_time ON data_uploads
    USING brin (max_received_us, min_received_us) WITH (autosummarize = on);
  DO $$
    DECLARE
      width bigint := 604800000000;
      this bigint := floor(extract(epoch FROM now()) * 1000000 / width);
      first bigint := this;
    BEGIN
      IF EXISTS (SELECT 1 FROM tabular_readings_before) THEN
        first := this + 1;
      END IF;
      FOR week IN first .. this + 2 LOOP
        EXECUTE format('CREATE TABLE tabular_readings_%s PARTITION OF tabular_readings
          FOR VALUES FROM (%s) TO (%s)', week, week * width, (week + 1) * width);
      END LOOP;
      IF first = this THEN
        DROP TABLE tabular_readings_before;
      ELSE
        WITH ahead AS (
          DELETE FROM tabular_readings_before WHERE received_us >= first * width RETURNING *
        ) INSERT INTO tabular_readings SELECT * FROM ahead;
        EXECUTE format('ALTER TABLE tabular_readings ATTACH PARTITION tabular_readings_before
          FOR VALUES FROM (MINVALUE) TO (%s)', first * width);
      END IF;
    END $$;
`;

/**
 * Migrations that are another thing on PostgreSQL, by number. Where they convert rows, it came after
 * them, so that a database has none.
 */
const OWN: Readonly<Record<number, string>> = {
  15: `
    ALTER TABLE trigger_events ADD COLUMN facts TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE trigger_events DROP COLUMN headers;
    ALTER TABLE trigger_events DROP COLUMN body;
  `,
  [logMigration.version]: LOG_TABLES,
  [weekMigration.version]: READING_WEEKS,
};

/** The SQL of a migration for PostgreSQL. */
export function postgresStep({ version, name, up }: Migration): string {
  const sqlite = OWN[version] ?? up;
  if (typeof sqlite === "string") return toPostgres(sqlite);
  throw new TypeError(`migration ${version} ${JSON.stringify(name)} has no form for PostgreSQL`);
}
