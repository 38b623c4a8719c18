import { join } from "node:path";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import {
  allowChanges,
  refuseChanges,
  refusesChanges,
} from "../../storage/database/moved_triggers.ts";
import { endNotes } from "../../storage/database/noting_triggers.ts";
import type { MoveDeps } from "./copy.ts";
import type { PostgresTarget } from "./postgres_target.ts";
import type { MoveSource, Row, Table, Value } from "./rows.ts";
import { applyChanges, compareCount, NotTheSameError } from "./served_move.ts";
import { SqliteRows } from "./sqlite_rows.ts";

/** `cloud.db`, which nobody else can write to until it is closed. */
export class SqliteSource implements MoveSource, Disposable {
  readonly #rows: SqliteRows;

  private constructor(private readonly handle: Database) {
    this.#rows = new SqliteRows(handle);
  }

  /**
   * Brings its schema up to date and locks it. It takes changes again before, where an earlier move
   * retired it and was cut: the schema may need them, and what somebody writes is copied again.
   *
   * @throws {StoreError} with one line for the operator.
   */
  static async open(dataDir: string): Promise<SqliteSource> {
    const path = join(dataDir, "cloud.db");
    allowChanges(path, () => true);
    await SqliteDatabase.open(dataDir).close();
    const handle = connect(path, addonFor(path), false);
    try {
      // What comes after retire() relies on it.
      handle.pragma("synchronous = FULL");
      handle.exec("BEGIN IMMEDIATE");
      return new SqliteSource(handle);
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  /** Opens one that was retired, to read; undefined: somebody made it take changes again. */
  static openRetired(dataDir: string): SqliteSource | undefined {
    const path = join(dataDir, "cloud.db");
    const handle = connect(path, addonFor(path), false);
    if (refusesChanges(handle)) {
      const source = new SqliteSource(handle);
      source.#emptyLog();
      return source;
    }
    handle.close();
    return undefined;
  }

  get tables(): readonly Table[] {
    return this.#rows.tables;
  }

  batches(table: Table, after?: readonly Value[]): AsyncIterable<Row[]> {
    return this.#rows.batches(table, after);
  }

  count(table: Table): Promise<number> {
    return Promise.resolve(this.#rows.count(table));
  }

  /** Brings what changed since {@link ServedMove} did; false: that does not say all. */
  async follow(target: PostgresTarget, deps: MoveDeps): Promise<boolean> {
    try {
      return await applyChanges(this.handle, target, deps);
    } catch (error) {
      if (!(error instanceof NotTheSameError)) throw error;
      deps.progress("the copy is not the same as what changed; copying all once more");
      return false;
    }
  }

  /**
   * @returns how many rows there are
   * @throws {StoreError} that names a table with another number of them there
   */
  async compareCounts(target: PostgresTarget): Promise<number> {
    let rows = 0;
    for (const table of this.tables) rows += await compareCount(table, this.#rows, target);
    return rows;
  }

  /** The last number that a table counted up to, also of a row that is deleted. */
  counted({ name }: Table): bigint {
    const statement = this.handle.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?");
    const row = statement.safeIntegers().get(name) as { seq: bigint } | undefined;
    return row?.seq ?? 0n;
  }

  /**
   * Ends its lock: who has waited for it, and who opens the file later, is refused with where the
   * rows are now. It can be read as before.
   */
  retire(place: string): void {
    endNotes(this.handle);
    refuseChanges(this.handle, this.tables.map(({ name }) => name), place);
    this.handle.exec("COMMIT");
    this.#emptyLog();
  }

  [Symbol.dispose](): void {
    if (this.handle.open) this.handle.close(); // what was not retired is as it was
  }

  /** The file gets another name, by which its log would not be found. */
  #emptyLog(): void {
    this.handle.pragma("wal_checkpoint(TRUNCATE)");
  }
}
