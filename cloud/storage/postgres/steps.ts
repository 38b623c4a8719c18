import type { Migration } from "../../../shared/base/store/sqlite.ts";
import { logMigration } from "../database/log_migration.ts";
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
};

/** The SQL of a migration for PostgreSQL. */
export function postgresStep({ version, name, up }: Migration): string {
  const sqlite = OWN[version] ?? up;
  if (typeof sqlite === "string") return toPostgres(sqlite);
  throw new TypeError(`migration ${version} ${JSON.stringify(name)} has no form for PostgreSQL`);
}
