import type { ClientBase } from "pg";
import type { Migration } from "../../../shared/base/store/sqlite.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { postgresCode } from "../database/postgres_failures.ts";
import type { PostgresAddress } from "./address.ts";
import { LIST_ROWS, notifications, SQLITE_FUNCTIONS } from "./functions.ts";
import { postgresStep } from "./steps.ts";

const INSUFFICIENT_PRIVILEGE = "42501";

/** Any two processes that migrate at once wait for each other by this lock. */
const MIGRATION_LOCK = 7_205_883_411n;

/**
 * Brings the cloud's schema to what this program knows, all steps or none. Two processes may do
 * that at once: the second finds it done.
 *
 * @throws {StoreError} when it is newer or of another program; nothing is changed then.
 */
export async function migrate(
  client: ClientBase,
  address: PostgresAddress,
  known: readonly Migration[],
): Promise<void> {
  if (await appliedSteps(client, address, known) === known.length) {
    return await renewFunctions(client, address);
  }
  await client.query("begin; set local statement_timeout = 0");
  try {
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK.toString()]);
    await makeSchema(client, address.schema);
    const done = await appliedSteps(client, address, known);
    if (done === 0) await client.query(SQLITE_FUNCTIONS);
    for (const migration of known.slice(done)) {
      await client.query(postgresStep(migration));
      await client.query("insert into schema_migrations values ($1, $2, now())", [
        migration.version,
        migration.name,
      ]);
    }
    await client.query(SQLITE_FUNCTIONS);
    await client.query(notifications(address.schema));
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined); // the first error is the one to report
    throw error;
  }
}

/** An older program may have made functions whose lists PostgreSQL plans as long ones. */
async function renewFunctions(client: ClientBase, { schema }: PostgresAddress): Promise<void> {
  const { rows: [found] } = await client.query<{ rows: string }>(
    "select prorows::text as rows from pg_proc where oid = to_regprocedure($1 || '.json_each(text)')",
    [schema],
  );
  if (Number(found?.rows) === LIST_ROWS) return;
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK.toString()]);
    await client.query(SQLITE_FUNCTIONS);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined); // the first error is the one to report
    // Those of another role do the same, more slowly.
    if (postgresCode(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  }
}

async function makeSchema(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query("select 1 from pg_namespace where nspname = $1", [schema]);
  if (rows.length === 0) await client.query(`create schema ${schema}`);
  await client.query(`create table if not exists schema_migrations (
    version bigint primary key, name text not null, applied_at timestamptz not null)`);
}

/** How many migrations the schema has; 0 when it is not there. */
async function appliedSteps(
  client: ClientBase,
  { schema, shown }: PostgresAddress,
  known: readonly Migration[],
): Promise<number> {
  // As texts: not every client here reads booleans in the same way.
  const { rows: [found] } = await client.query<{ noted: string | null; schema: string | null }>(
    `select to_regclass($1 || '.schema_migrations')::text as noted,
       to_regnamespace($1)::text as schema`,
    [schema],
  );
  if (!found?.noted) {
    if (!found?.schema) return 0;
    // Not for each start: it reads all tables of all schemas.
    const { rows } = await client.query(
      "select 1 from pg_tables where schemaname = $1 limit 1",
      [schema],
    );
    if (rows.length === 0) return 0;
    throw new StoreError(
      "foreign-database",
      `The schema ${schema} of ${shown} belongs to another program. Name another one with schema=`,
    );
  }
  const { rows } = await client.query<{ version: number; name: string }>(
    "select version, name from schema_migrations order by version",
  );
  const newest = rows.at(-1)?.version ?? 0;
  if (newest > known.length) {
    throw new StoreError(
      "newer-schema",
      `The database ${shown} has schema ${newest}, this program knows schemas up to ` +
        `${known.length}. Run the newer program again; it was not changed.`,
    );
  }
  for (const [at, row] of rows.entries()) {
    if (row.version === at + 1 && row.name === known[at]?.name) continue;
    throw new StoreError(
      "changed-migration",
      `The database ${shown} was made by another program: its migration ${row.version} is ` +
        `${JSON.stringify(row.name)}. Run the program that made it; it was not changed.`,
    );
  }
  return rows.length;
}
