import type { Client } from "pg";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { DataFolderInUseError } from "../../storage/data_folder/serve_lock.ts";
import { postgresCode } from "../../storage/database/postgres_failures.ts";
import type { SettingName } from "../../storage/database/settings.ts";
import type { PostgresAddress } from "../../storage/postgres/address.ts";
import { inspectPostgres } from "../../storage/postgres/inspect.ts";
import { openingFailure } from "../../storage/postgres/failures.ts";
import { lockNumber, PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { EXPIRED_TABLES, HOLD_READINGS } from "../../storage/postgres/week_tables.ts";
import { connectForMove, cursorRows, fromOf } from "./postgres_rows.ts";
import type { MoveSource, Row, Table, Value } from "./rows.ts";

const LOCK_TIMEOUT_MS = 30_000;
const TRIES = 5;
const UNDEFINED_TABLE = "42P01";

/** A cloud's schema as it is at one moment. */
export class PostgresSource implements MoveSource, AsyncDisposable {
  private constructor(private readonly client: Client) {}

  /**
   * Brings its tables up to date and locks it: nobody serves from it or writes to it until it is
   * closed.
   *
   * @throws {StoreError} or {DataFolderInUseError}, each with one line for the operator.
   */
  static async open(address: PostgresAddress): Promise<PostgresSource> {
    const patient = { ...address, statementTimeoutMs: 0 };
    await (await PostgresDatabase.open(patient)).close();
    let client: Client | undefined;
    try {
      client = await connectForMove(patient);
      await lock(client, address);
      // All reads see one moment.
      await client.query("begin isolation level repeatable read");
      return new PostgresSource(client);
    } catch (error) {
      await client?.end().catch(() => undefined); // what failed before is reported
      throw error instanceof DataFolderInUseError ? error : openingFailure(error, address);
    }
  }

  /**
   * Others serve from it and write to it as before.
   *
   * @param schema the number of the newest migration that it has to have
   * @throws {StoreError} with one line for the operator.
   */
  static async openServed(address: PostgresAddress, schema: number): Promise<PostgresSource> {
    const { schemaVersion } = await inspectPostgres(address);
    if (schemaVersion !== schema) {
      throw new StoreError(
        schemaVersion > schema ? "newer-schema" : "failed",
        schemaVersion === 0
          ? `${address.shown} has no tables of a cloud in the schema ${address.schema}.`
          : `The database ${address.shown} has schema ${schemaVersion}, this program knows ` +
            `${schema}. Use the program of the version that serves it.`,
      );
    }
    let client: Client | undefined;
    try {
      client = await connectForMove({ ...address, statementTimeoutMs: 0 });
      // Without it the server ends the transaction while the file is written.
      await client.query("set idle_in_transaction_session_timeout = 0");
      await beginReading(client);
      const source = new PostgresSource(client);
      const home = await source.setting("moved_to"); // the moment of all that is read
      if (home === undefined) return source;
      throw new StoreError(
        "failed",
        `The rows of ${address.shown} were moved to ${home}, where newer ones are. Name that ` +
          'folder; where it does not serve yet, run "machine-cloud migrate" there again.',
      );
    } catch (error) {
      await client?.end().catch(() => undefined); // what failed before is reported
      throw openingFailure(error, address);
    }
  }

  async *batches(table: Table, after?: readonly Value[]): AsyncGenerator<Row[]> {
    const from = table.name === "data_usage" ? await this.#usage() : table.from;
    yield* cursorRows(this.client, from === undefined ? table : { ...table, from }, after);
  }

  /** `data_usage` without readings that expired and whose table was not dropped yet. */
  async #usage(): Promise<string | undefined> {
    const { rows } = await this.client.query<{ name: string }>(EXPIRED_TABLES);
    if (rows.length === 0) return undefined;
    const all = rows.map(({ name }) => `select source_id, data from ${name}`).join(" union all ");
    return `(select u.org_id, u.readings - coalesce(gone.readings, 0) as readings,
      u.reading_bytes - coalesce(gone.bytes, 0) as reading_bytes, u.files, u.file_bytes
      from data_usage u left join (
        select s.org_id, count(*) as readings, sum(octet_length(r.data)) as bytes
        from (${all}) r join data_sources s on s.id = r.source_id group by s.org_id
      ) gone on gone.org_id = u.org_id) as data_usage`;
  }

  async count(table: Table): Promise<number> {
    return Number(await this.#text(`select count(*) from ${fromOf(table)}`));
  }

  /** The last number that a table counted up to, also of a row that is deleted. */
  async counted({ name, from, sequence }: Table): Promise<bigint> {
    if (from !== undefined && sequence === undefined) return 0n;
    const found = sequence ?? await this.#text(
      `select pg_get_serial_sequence($1, attname) from pg_attribute
        where attrelid = $1::regclass and attidentity <> '' and not attisdropped`,
      [name],
    );
    if (found === undefined) return 0n;
    return BigInt(
      await this.#text(`select case when is_called then last_value else 0 end from ${found}`) ?? 0,
    );
  }

  async setting(name: SettingName): Promise<string | undefined> {
    return await this.#text("select value from settings where name = $1", [name]);
  }

  /** From now on no cloud serves from it: its rows are in a data folder. */
  async leaveTo(dataDir: string): Promise<void> {
    await this.client.query("commit");
    await this.client.query(
      "insert into settings (name, value) values ('moved_to', $1) on conflict (name) do nothing",
      [dataDir],
    );
    await this.client.query("begin isolation level repeatable read");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end().catch(() => undefined); // what failed before is reported
  }

  async #text(text: string, values: readonly unknown[] = []): Promise<string | undefined> {
    const { rows } = await this.client.query<(string | null)[]>({
      ...{ text, values: [...values], rowMode: "array" },
    });
    return rows[0]?.[0] ?? undefined;
  }
}

/** Begins a transaction in which no table of readings goes, not even one that has expired. */
async function beginReading(client: Client): Promise<void> {
  for (let left = TRIES;; left--) {
    await client.query("begin isolation level repeatable read read only");
    await client.query(HOLD_READINGS);
    const { rows } = await client.query<{ name: string }>(EXPIRED_TABLES);
    try {
      for (const { name } of rows) await client.query(`lock table ${name} in access share mode`);
      return;
    } catch (error) {
      // It was dropped since.
      if (left <= 1 || postgresCode(error) !== UNDEFINED_TABLE) throw error;
      await client.query("rollback");
    }
  }
}

async function lock(client: Client, address: PostgresAddress): Promise<void> {
  const number = (purpose: string) => lockNumber(address.schema, purpose).toString();
  const { rows } = await client.query<{ taken: string }>(
    "select pg_try_advisory_lock($1) as taken",
    [number("serving")],
  );
  if (rows[0]?.taken !== "t") {
    throw new DataFolderInUseError(
      `a cloud serves from ${address.shown}, or another move is under way; stop all its nodes first`,
    );
  }
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    await client.query("select pg_advisory_lock($1)", [number("writers")]);
  } catch (error) {
    throw new StoreError("busy", `Another program writes to ${address.shown}; end it.`, error);
  }
  await client.query("set lock_timeout = 0");
}
