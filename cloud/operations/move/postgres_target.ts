import type { Client } from "pg";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import type { PostgresAddress } from "../../storage/postgres/address.ts";
import { openingFailure } from "../../storage/postgres/failures.ts";
import { notifications } from "../../storage/postgres/functions.ts";
import { migrate } from "../../storage/postgres/migrate.ts";
import { lockNumber } from "../../storage/postgres/postgres_database.ts";
import { makeWeek, READINGS_TABLE, WEEK_US, weekOf } from "../../storage/postgres/week_tables.ts";
import { connectForMove, cursorRows, parameter, removeRows, rowsWith } from "./postgres_rows.ts";
import type { NotedMoment } from "./noted_changes.ts";
import {
  afterText,
  type MoveTarget,
  quoted,
  readProgress,
  type Row,
  type Table,
  type TableProgress,
  type Value,
} from "./rows.ts";

const SUFFIX = "_moving";
const LONGEST_NAME = 63;
/** Weeks before this one that get a table of their own: ten years. */
const MOST_WEEKS = 520;

/** What is in the target of a move. */
export type TargetState = "empty" | "copying" | "complete" | "foreign";

/**
 * The cloud's tables on PostgreSQL while they are filled. They are in a schema of another name until
 * all rows are there, so that no cloud serves from a half of them, and without foreign keys, as rows
 * come in the order of their tables.
 */
export class PostgresTarget implements MoveTarget, AsyncDisposable {
  readonly #types = new Map<string, readonly string[]>();
  /** Those that have their tables. */
  readonly #weeks = new Set<number>();
  #isLost = false;

  private constructor(
    private readonly client: Client,
    private readonly address: PostgresAddress,
    /** The schema that is being filled. */
    private readonly moving: PostgresAddress,
  ) {
    client.on("error", () => this.#isLost = true);
  }

  /** What to say of an error: that of a connection which is lost says nothing of it. */
  failureOf(error: unknown): unknown {
    if (!this.#isLost) return error;
    return new StoreError(
      "failed",
      `The connection to ${this.address.shown} was lost. Run it again: it continues there.`,
      error,
    );
  }

  /** @throws {StoreError} with one line for the operator. */
  static async open(address: PostgresAddress): Promise<PostgresTarget> {
    const schema = `${address.schema}${SUFFIX}`;
    if (schema.length > LONGEST_NAME) {
      throw new StoreError(
        "failed",
        `The name schema=${address.schema} is too long for a move: at most ` +
          `${LONGEST_NAME - SUFFIX.length} characters.`,
      );
    }
    const moving = { ...address, schema, statementTimeoutMs: 0 };
    try {
      const client = await connectForMove(moving);
      const target = new PostgresTarget(client, address, moving);
      await target.#lock();
      return target;
    } catch (error) {
      throw openingFailure(error, address);
    }
  }

  async state(): Promise<TargetState> {
    const tables = await this.#tables(this.address.schema);
    if (tables.includes("moved_tables")) return "complete";
    if (tables.length > 0) return "foreign";
    const moving = await this.#tables(this.moving.schema);
    if (!moving.includes("moved_tables")) return "empty";
    const [newest] = await this.#rows<{ version: string }>(
      "select max(version) as version from schema_migrations",
    );
    return Number(newest?.version) === cloudMigrations.length ? "copying" : "empty";
  }

  /** Makes the tables, empty and without foreign keys; what an earlier move left is removed. */
  async begin(): Promise<void> {
    const { schema } = this.moving;
    this.#weeks.clear();
    await this.client.query(`drop schema if exists ${schema} cascade`);
    await migrate(this.client, this.moving, cloudMigrations);
    const tables = (await this.#tables(schema)).filter((name) => name !== "schema_migrations");
    const keys = await this.#rows<{ name: string; of: string; text: string }>(
      `select conname as name, conrelid::regclass::text as of, pg_get_constraintdef(oid) as text
        from pg_constraint where contype = 'f' and connamespace = $1::regnamespace`,
      [schema],
    );
    await this.#transaction(async () => {
      await this.client.query(
        "create table moved_keys (name text primary key, of_table text, definition text)",
      );
      for (const { name, of, text } of keys) {
        await this.client.query("insert into moved_keys values ($1, $2, $3)", [name, of, text]);
        await this.client.query(`alter table ${of} drop constraint "${name}"`);
      }
      await this.client.query(`truncate ${tables.join(", ")}`);
      // Last: with it the others are there.
      await this.client.query(`create table moved_tables (
        name text primary key, rows bigint not null, after text, is_complete boolean not null)`);
    });
  }

  async progress({ name }: Table): Promise<TableProgress> {
    const [row] = await this.#rows<{ rows: string; after: string | null; is_complete: string }>(
      "select rows, after, is_complete from moved_tables where name = $1",
      [name],
    );
    return readProgress(
      row && { rows: Number(row.rows), after: row.after, isComplete: row.is_complete === "t" },
    );
  }

  /**
   * Adds rows, and notes with them how far the table is.
   *
   * @throws {StoreError} that names the table
   */
  async append(table: Table, rows: readonly Row[], progress: TableProgress): Promise<void> {
    await this.#write(table, async (types) => {
      await this.#insert(table, types, rows);
      await this.client.query(
        `insert into moved_tables values ($1, $2, $3, $4) on conflict (name) do update
          set rows = excluded.rows, after = excluded.after, is_complete = excluded.is_complete`,
        [table.name, progress.rows, afterText(progress), progress.isComplete],
      );
    });
  }

  /** Removes the rows with some keys. */
  async remove(table: Table, keys: readonly (readonly Value[])[]): Promise<void> {
    await this.#write(table, (types) => removeRows(this.client, table, types, keys));
  }

  /**
   * Puts rows in the place of those with some keys.
   *
   * @returns what is there now
   */
  async replace(
    table: Table,
    keys: readonly (readonly Value[])[],
    rows: readonly Row[],
  ): Promise<Row[]> {
    return await this.#write(table, async (types) => {
      await removeRows(this.client, table, types, keys);
      await this.#insert(table, types, rows);
      return await rowsWith(this.client, table, types, keys);
    });
  }

  async count({ name }: Table): Promise<number> {
    const [row] = await this.#rows<{ rows: string }>(`select count(*) as rows from "${name}"`);
    return Number(row?.rows);
  }

  /** Up to which note of changes the rows are as in `cloud.db`; undefined: there is none. */
  async noted(): Promise<NotedMoment | undefined> {
    if (!(await this.#tables(this.moving.schema)).includes("moved_notes")) return undefined;
    const [row] = await this.#rows<{ id: string; seq: string }>("select id, seq from moved_notes");
    return row && { id: row.id, seq: BigInt(row.seq) };
  }

  async note({ id, seq }: NotedMoment): Promise<void> {
    await this.#transaction(async () => {
      await this.client.query(
        "create table if not exists moved_notes (id text not null, seq bigint not null)",
      );
      await this.client.query("delete from moved_notes");
      await this.client.query("insert into moved_notes values ($1, $2)", [id, seq.toString()]);
    });
  }

  /** Takes the rows of a table back. */
  async forget({ name }: Table): Promise<void> {
    await this.#transaction(async () => {
      await this.client.query(`truncate "${name}"`);
      await this.client.query("delete from moved_tables where name = $1", [name]);
    });
  }

  async *batches(table: Table, after?: readonly Value[]): AsyncGenerator<Row[]> {
    await this.client.query("begin");
    try {
      yield* cursorRows(this.client, table, after);
    } finally {
      await this.client.query("rollback");
    }
  }

  /**
   * Checks references between rows, and gives the schema its name: from then on the cloud is here.
   *
   * @param counted by table, the last number that it counted up to
   */
  async finish(counted: ReadonlyMap<Table, bigint>): Promise<void> {
    const keys = await this.#rows<{ name: string; of_table: string; definition: string }>(
      "select name, of_table, definition from moved_keys order by name",
    );
    await this.#transaction(async () => {
      for (const { name, of_table, definition } of keys) {
        await this.client.query(`alter table ${of_table} add constraint "${name}" ${definition}`);
      }
      for (const [table, last] of counted) await this.#countOn(table, last);
      await this.client.query("drop table moved_keys");
      await this.client.query("drop table if exists moved_notes");
      await this.client.query(notifications(this.address.schema));
      await this.client.query(`drop schema if exists ${this.address.schema}`);
      await this.client.query(
        `alter schema ${this.moving.schema} rename to ${this.address.schema}`,
      );
    });
    await this.client.query("analyze");
  }

  /** Removes what only the move needs; call it when the folder is done, too. */
  async tidy(): Promise<void> {
    await this.client.query(`drop table if exists ${this.address.schema}.moved_tables`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end().catch(() => undefined); // what failed before is reported
  }

  async #countOn(table: Table, last: bigint): Promise<void> {
    const [identity] = await this.#rows<{ name: string }>(
      `select attname as name from pg_attribute
        where attrelid = $1::regclass and attidentity <> '' and not attisdropped`,
      [table.name],
    );
    if (!identity) return;
    const { name } = identity;
    await this.client.query(
      `select setval(pg_get_serial_sequence($1, $2), newest, true) from (
        select greatest($3::bigint, max("${name}")) as newest from "${table.name}") as found
        where newest > 0`,
      [table.name, name, last.toString()],
    );
  }

  async #lock(): Promise<void> {
    const [row] = await this.#rows<{ taken: string }>("select pg_try_advisory_lock($1) as taken", [
      lockNumber(this.address.schema, "moving").toString(),
    ]);
    if (row?.taken === "t") return;
    await this.client.end();
    throw new StoreError("busy", `Another move to ${this.address.shown} is under way.`);
  }

  async #typesOf(table: Table): Promise<readonly string[]> {
    const known = this.#types.get(table.name);
    if (known) return known;
    const columns = await this.#rows<{ name: string; type: string }>(
      `select column_name as name, udt_name as type from information_schema.columns
        where table_schema = $1 and table_name = $2`,
      [this.moving.schema, table.name],
    );
    const types = table.columns.map((name) => columns.find((one) => one.name === name)?.type);
    const missing = table.columns[types.indexOf(undefined)];
    if (missing !== undefined || columns.length !== types.length) {
      throw new TypeError(
        `the tables ${table.name} of the engines differ: ${missing ?? "columns"}`,
      );
    }
    const all = types.map(String);
    this.#types.set(table.name, all);
    return all;
  }

  async #tables(schema: string): Promise<string[]> {
    const rows = await this.#rows<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = $1",
      [schema],
    );
    return rows.map(({ name }) => name);
  }

  async #rows<T extends object>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return (await this.client.query<T>(text, [...values])).rows;
  }

  async #insert(table: Table, types: readonly string[], rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    if (table.name === READINGS_TABLE) await this.#makeWeeks(table, rows);
    const lists = types.map((type, at) => `$${at + 1}::${type}[]`).join(", ");
    await this.client.query(
      `insert into "${table.name}" (${quoted(table.columns)}) select * from unnest(${lists})`,
      table.columns.map((_, at) => rows.map((row) => parameter(row[at] ?? null))),
    );
  }

  /** Those of the readings in these rows, but for times that clocks do not have which are right. */
  async #makeWeeks(table: Table, rows: readonly Row[]): Promise<void> {
    const column = table.columns.indexOf("received_us");
    const weeks = new Set(rows.map((row) => weekOf(Number(row[column]))));
    if (weeks.isSubsetOf(this.#weeks)) return;
    const [now] = await this.#rows<{ week: string }>(
      `select floor(extract(epoch from now()) * 1000000 / ${WEEK_US}) as week`,
    );
    for (const week of weeks.difference(this.#weeks)) {
      const age = Number(now?.week) - week;
      if (age < 0 || age > MOST_WEEKS) continue;
      await this.client.query(makeWeek(week));
      this.#weeks.add(week);
    }
  }

  /** @throws {StoreError} that names the table */
  async #write<T>(table: Table, work: (types: readonly string[]) => Promise<T>): Promise<T> {
    const types = await this.#typesOf(table);
    try {
      return await this.#transaction(() => work(types));
    } catch (error) {
      this.#weeks.clear();
      const reason = toError(error).message;
      throw new StoreError(
        "failed",
        `The rows of ${table.name} cannot be written to ${this.address.shown}: ${reason}.`,
        error,
      );
    }
  }

  async #transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.client.query("begin");
    try {
      const result = await work();
      await this.client.query("commit");
      return result;
    } catch (error) {
      await this.client.query("rollback").catch(() => undefined); // the first error counts
      throw error;
    }
  }
}
