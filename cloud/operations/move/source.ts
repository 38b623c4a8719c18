import { Buffer } from "node:buffer";
import { join } from "node:path";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { type Digest, type Row, RowHash, type Table, type Value } from "./rows.ts";

const MOST_ROWS = 2_000;
const MOST_BYTES = 4 * 1024 * 1024;

/** `cloud.db`, which nobody else can write to until it is closed. */
export class MoveSource implements Disposable {
  readonly tables: readonly Table[];

  private constructor(private readonly handle: Database) {
    this.tables = this.#names().map((name) => this.#table(name));
  }

  /**
   * Brings its schema up to date and locks it.
   *
   * @throws {StoreError} with one line for the operator.
   */
  static async open(dataDir: string): Promise<MoveSource> {
    await SqliteDatabase.open(dataDir).close();
    const path = join(dataDir, "cloud.db");
    const handle = connect(path, addonFor(path), false);
    try {
      handle.exec("BEGIN IMMEDIATE");
      return new MoveSource(handle);
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  count({ name }: Table): number {
    const row = this.handle.prepare(`SELECT count(*) AS rows FROM "${name}"`).get();
    return Number((row as { rows: number }).rows);
  }

  /** The last number that a table counted up to, also of a row that is deleted. */
  counted({ name }: Table): bigint {
    const statement = this.handle.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?");
    const row = statement.safeIntegers().get(name) as { seq: bigint } | undefined;
    return row?.seq ?? 0n;
  }

  /**
   * Some rows in the order of their keys, bounded in number and bytes; none at the end.
   *
   * @param after the key of the row before the first one
   */
  batch(table: Table, after: readonly Value[] | undefined): Row[] {
    const rows: Row[] = [];
    let bytes = 0;
    const key = quoted(table.key);
    const where = after ? `WHERE (${key}) > (${after.map(() => "?").join(", ")})` : "";
    const statement = this.handle.prepare(
      `SELECT ${quoted(table.columns)} FROM "${table.name}" ${where} ORDER BY ${key} LIMIT ?`,
    );
    const found = statement.safeIntegers().raw().iterate(...after ?? [], MOST_ROWS);
    for (const row of found as Iterable<Value[]>) {
      rows.push(row.map(storable));
      bytes += row.reduce<number>((sum, value) => sum + sizeOf(value), 0);
      if (bytes > MOST_BYTES) break;
    }
    return rows;
  }

  /** @param looked is called with the number of rows so far */
  digest(table: Table, looked: (rows: number) => void): Digest {
    const hash = new RowHash();
    let rows = 0;
    let after: Value[] | undefined;
    for (;;) {
      const batch = this.batch(table, after);
      for (const row of batch) hash.add(row);
      const last = batch.at(-1);
      if (!last) return hash.digest();
      rows += batch.length;
      looked(rows);
      after = keyOf(table, last);
    }
  }

  [Symbol.dispose](): void {
    if (this.handle.open) this.handle.close(); // the transaction has changed nothing
  }

  #names(): string[] {
    return this.handle.prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' " +
        "AND name <> 'schema_migrations' ORDER BY name",
    ).pluck().all();
  }

  #table(name: string): Table {
    const found = this.handle.prepare(`PRAGMA table_info("${name}")`).all() as {
      name: string;
      pk: number;
    }[];
    const primary = found.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    const key = primary.length > 0 ? primary.map((column) => column.name) : this.#unique(name);
    return { name, columns: found.map((column) => column.name), key };
  }

  /** The key of a table that has no primary one. */
  #unique(name: string): string[] {
    const [found] = this.handle.prepare<[string], string>(
      "SELECT name FROM pragma_index_list(?) WHERE [unique] = 1 AND partial = 0 AND origin = 'u'",
    ).pluck().all(name);
    if (found === undefined) throw new TypeError(`the table ${name} has no key`);
    return this.handle.prepare<[string], string>(
      "SELECT name FROM pragma_index_info(?) ORDER BY seqno",
    ).pluck().all(found);
  }
}

/** The key of a row. */
export function keyOf({ columns, key }: Table, row: Row): Value[] {
  return key.map((name) => row[columns.indexOf(name)] ?? null);
}

/** Names of columns, for SQL of both engines. */
export function quoted(columns: readonly string[]): string {
  return columns.map((name) => `"${name}"`).join(", ");
}

/** PostgreSQL takes no zero character in a text. */
function storable(value: Value): Value {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}

function sizeOf(value: Value): number {
  return typeof value === "string" || Buffer.isBuffer(value) ? value.length : 8;
}
