import type { PostgresAddress } from "./address.ts";
import { clientConfig } from "./connect.ts";
import { openingFailure } from "./failures.ts";

/** What a database has, looked at without a change. */
export interface PostgresState {
  /** The number of its newest migration; 0 when it has no tables of the cloud. */
  readonly schemaVersion: number;
  /** Of the server: "15.14". */
  readonly serverVersion: string;
  /** The table of settings. */
  readonly settings: ReadonlyMap<string, string>;
}

/** @throws {StoreError} or {FileError} when it cannot be looked at, with one line for the operator. */
export async function inspectPostgres(address: PostgresAddress): Promise<PostgresState> {
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
    if (tables.length === 0) return { schemaVersion: 0, serverVersion, settings: new Map() };
    const { rows: [newest] } = await client.query<{ version: number | null }>(
      "select max(version) as version from schema_migrations",
    );
    const schemaVersion = newest?.version ?? 0;
    const { rows } = await client.query<{ name: string; value: string }>(
      "select name, value from settings",
    );
    const settings = new Map(rows.map(({ name, value }) => [name, value]));
    return { schemaVersion, serverVersion, settings };
  } catch (error) {
    throw openingFailure(error, address);
  } finally {
    await client.end().catch(() => undefined); // what failed before is reported
  }
}
