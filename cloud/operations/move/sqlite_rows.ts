import type { Database } from "../../../shared/base/store/connect.ts";
import {
  BATCH,
  keyOf,
  quoted,
  type Row,
  type Side,
  sizeOf,
  type Table,
  type Value,
} from "./rows.ts";

/** The rows of an open file of SQLite. */
export class SqliteRows implements Side {
  readonly tables: readonly Table[];

  /** @param without tables that stay where they are, besides those of SQLite and of the schema */
  constructor(private readonly handle: Database, without: readonly string[] = []) {
    this.tables = this.#names().filter((name) => !without.includes(name))
      .map((name) => this.#table(name));
  }

  async *batches(table: Table, after?: readonly Value[]): AsyncGenerator<Row[]> {
    for (let from = after;;) {
      const rows = this.#batch(table, from);
      const last = rows.at(-1);
      if (!last) return;
      yield rows;
      from = keyOf(table, last);
    }
  }

  count({ name }: Table): number {
    return this.handle.prepare<[], number>(`SELECT count(*) FROM "${name}"`).pluck().get() ?? 0;
  }

  #batch(table: Table, after: readonly Value[] | undefined): Row[] {
    const rows: Row[] = [];
    let bytes = 0;
    const key = quoted(table.key);
    const where = after ? `WHERE (${key}) > (${after.map(() => "?").join(", ")})` : "";
    const statement = this.handle.prepare(
      `SELECT ${quoted(table.columns)} FROM "${table.name}" ${where} ORDER BY ${key} LIMIT ?`,
    );
    const found = statement.safeIntegers().raw().iterate(...after ?? [], BATCH.rows);
    for (const row of found as Iterable<Value[]>) {
      rows.push(row.map(storable));
      bytes += sizeOf(row);
      if (bytes > BATCH.bytes) break;
    }
    return rows;
  }

  #names(): string[] {
    return this.handle.prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' " +
        "AND name <> 'schema_migrations' AND name NOT GLOB 'move_notes*' ORDER BY name",
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

/** PostgreSQL takes no zero character in a text. */
export function storable(value: Value): Value {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}
