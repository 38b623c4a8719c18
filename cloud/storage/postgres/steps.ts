import type { Migration } from "../../../shared/base/store/sqlite.ts";
import { toPostgres } from "./translate.ts";

/**
 * Migrations that are another thing on PostgreSQL, by number. It came after them, so that a database
 * has no rows that they would convert.
 */
const OWN: Readonly<Record<number, string>> = {
  15: `
    ALTER TABLE trigger_events ADD COLUMN facts TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE trigger_events DROP COLUMN headers;
    ALTER TABLE trigger_events DROP COLUMN body;
  `,
};

/** The SQL of a migration for PostgreSQL. */
export function postgresStep({ version, name, up }: Migration): string {
  const sqlite = OWN[version] ?? up;
  if (typeof sqlite === "string") return toPostgres(sqlite);
  throw new TypeError(`migration ${version} ${JSON.stringify(name)} has no form for PostgreSQL`);
}
