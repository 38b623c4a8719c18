import { join } from "node:path";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { MOVED_TEXT } from "../../storage/database/call_failures.ts";
import type { MoveSource, Row, Table, Value } from "./rows.ts";
import { SqliteRows } from "./sqlite_rows.ts";

/** `cloud.db`, which nobody else can write to until it is closed. */
export class SqliteSource implements MoveSource, Disposable {
  readonly #rows: SqliteRows;

  private constructor(private readonly handle: Database) {
    this.#rows = new SqliteRows(handle);
  }

  /**
   * Brings its schema up to date and locks it.
   *
   * @throws {StoreError} with one line for the operator.
   */
  static async open(dataDir: string): Promise<SqliteSource> {
    await SqliteDatabase.open(dataDir).close();
    const path = join(dataDir, "cloud.db");
    const handle = connect(path, addonFor(path), false);
    try {
      handle.exec("BEGIN IMMEDIATE");
      return new SqliteSource(handle);
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  get tables(): readonly Table[] {
    return this.#rows.tables;
  }

  batches(table: Table, after?: readonly Value[]): AsyncIterable<Row[]> {
    return this.#rows.batches(table, after);
  }

  count({ name }: Table): Promise<number> {
    const row = this.handle.prepare(`SELECT count(*) AS rows FROM "${name}"`).get();
    return Promise.resolve(Number((row as { rows: number }).rows));
  }

  /** The last number that a table counted up to, also of a row that is deleted. */
  counted({ name }: Table): bigint {
    const statement = this.handle.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?");
    const row = statement.safeIntegers().get(name) as { seq: bigint } | undefined;
    return row?.seq ?? 0n;
  }

  /**
   * Ends it for good: who has waited for it, and who opens the file later, is refused with where
   * the rows are now.
   */
  retire(place: string): void {
    const message = `${MOVED_TEXT} ${place}; nothing was saved`.replaceAll("'", "''");
    for (const { name } of this.tables) {
      for (const event of ["INSERT", "UPDATE", "DELETE"]) {
        this.handle.exec(`CREATE TRIGGER IF NOT EXISTS "moved_${name}_${event}"
          BEFORE ${event} ON "${name}" BEGIN SELECT RAISE(ABORT, '${message}'); END`);
      }
    }
    this.handle.exec("COMMIT");
    // The file gets another name, by which its log would not be found.
    this.handle.pragma("wal_checkpoint(TRUNCATE)");
  }

  [Symbol.dispose](): void {
    if (this.handle.open) this.handle.close(); // what was not retired is as it was
  }
}
