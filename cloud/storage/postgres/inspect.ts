import type { Client } from "pg";
import type { PostgresAddress } from "./address.ts";
import { clientConfig } from "./connect.ts";
import { archiveMigration } from "../database/archive_migration.ts";
import { openingFailure } from "./failures.ts";

/** What a database has, looked at without a change. */
export interface PostgresState {
  /** The number of its newest migration; 0 when it has no tables of the cloud. */
  readonly schemaVersion: number;
  /** Of the server: "15.14". */
  readonly serverVersion: string;
  /** The table of settings. */
  readonly settings: ReadonlyMap<string, string>;
  readonly load: PostgresLoad;
  readonly archived: ArchivedFiles;
}

/** Files of old readings that the database names. */
export interface ArchivedFiles {
  /** Those of the least ids. */
  readonly files: readonly { readonly id: string; readonly size: number }[];
  /** All. */
  readonly count: number;
}

/** How the server is doing. */
export interface PostgresLoad {
  /** Of all databases; `most` without those that only a superuser gets. */
  readonly connections: { readonly used: number; readonly most: number };
  /** Others that have waited for a lock for some seconds. */
  readonly waiting: number;
  /** Age of the oldest transaction in the database that this user may see, seconds. */
  readonly oldestSeconds: number;
  /** Of the database with all that is in it. */
  readonly bytes: number;
  readonly isStandby: boolean;
  /** By the server's clock, while it was asked. */
  readonly nowMs: number;
}

/** Of what others do a user without further rights sees that they are there, and locks. */
const LOAD = `select
  (select count(*) from pg_stat_activity where datid is not null)::int as used,
  current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int as most,
  (select count(distinct pid) from pg_locks where not granted
    and waitstart < now() - interval '5 seconds')::int as waiting,
  (select coalesce(max(extract(epoch from now() - xact_start)), 0) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid())::float8 as oldest,
  pg_database_size(current_database()) as bytes,
  pg_is_in_recovery()::int as standby,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`;

/**
 * @param mostFiles of old readings that are listed
 * @throws {StoreError} or {FileError} when it cannot be looked at, with one line for the operator.
 */
export async function inspectPostgres(
  address: PostgresAddress,
  mostFiles = 0,
): Promise<PostgresState> {
  const config = await clientConfig(address);
  const { default: pg } = await import("pg");
  const client = new pg.Client(config);
  client.on("error", () => undefined); // the statement reports it
  try {
    await client.connect();
    const { rows: [server] } = await client.query<{ server_version: string }>(
      "show server_version",
    );
    const serverVersion = server?.server_version ?? "unknown";
    const { rows: tables } = await client.query(
      "select 1 from pg_tables where schemaname = $1 and tablename = 'schema_migrations'",
      [address.schema],
    );
    const { rows: [found] } = await client.query<Record<string, number>>(LOAD);
    const of = (name: string) => found?.[name] ?? 0;
    const load = {
      connections: { used: of("used"), most: of("most") },
      waiting: of("waiting"),
      oldestSeconds: of("oldest"),
      bytes: of("bytes"),
      isStandby: of("standby") === 1,
      nowMs: of("now_ms"),
    };
    if (tables.length === 0) {
      const archived = { files: [], count: 0 };
      return { schemaVersion: 0, serverVersion, settings: new Map(), load, archived };
    }
    const { rows: [newest] } = await client.query<{ version: number | null }>(
      "select max(version) as version from schema_migrations",
    );
    const schemaVersion = newest?.version ?? 0;
    const { rows } = await client.query<{ name: string; value: string }>(
      "select name, value from settings",
    );
    const settings = new Map(rows.map(({ name, value }) => [name, value]));
    const archived = schemaVersion < archiveMigration.version
      ? { files: [], count: 0 }
      : await archivedFiles(client, mostFiles);
    return { schemaVersion, serverVersion, settings, load, archived };
  } catch (error) {
    throw openingFailure(error, address);
  } finally {
    await client.end().catch(() => undefined); // what failed before is reported
  }
}

async function archivedFiles(client: Client, most: number): Promise<ArchivedFiles> {
  const { rows } = await client.query<{ id: string; size: number }>(
    `select id, size::float8 as size from archived_files order by id collate "C" limit $1`,
    [most],
  );
  const { rows: [all] } = await client.query<{ count: number }>(
    "select count(*)::float8 as count from archived_files",
  );
  return { files: rows, count: all?.count ?? 0 };
}
