import { existsSync } from "node:fs";
import { join } from "node:path";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import {
  closeSqlite,
  type Migration,
  openSqlite,
  StoreError,
} from "../../../shared/base/store/sqlite.ts";
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
import { SqliteRows } from "./sqlite_rows.ts";

const PROGRESS = "moved_tables";

/** A file of SQLite while it is filled, in a folder where nobody looks for it. */
export class SqliteTarget implements MoveTarget, Disposable {
  readonly #rows: SqliteRows;

  private constructor(private readonly handle: Database, private readonly path: string) {
    this.#rows = new SqliteRows(handle, [PROGRESS]);
  }

  /**
   * Opens what an earlier call began, or begins a file.
   *
   * @param name of the file without its ending
   * @throws {StoreError} with one line for the operator.
   */
  static open(folder: string, name: string, migrations: readonly Migration[]): SqliteTarget {
    const path = join(folder, `${name}.db`);
    if (!isBegun(path, migrations.length)) {
      for (const ending of ["", "-wal", "-shm"]) {
        if (existsSync(path + ending)) Deno.removeSync(path + ending);
      }
    }
    openSqlite(path, { migrations, synchronous: "FULL", name }).close();
    const handle = connect(path, addonFor(path), false);
    // Rows come in the order of their tables; a cut one is copied again.
    handle.pragma("foreign_keys = OFF");
    handle.pragma("synchronous = NORMAL");
    const target = new SqliteTarget(handle, path);
    target.#begin();
    return target;
  }

  get tables(): readonly Table[] {
    return this.#rows.tables;
  }

  batches(table: Table, after?: readonly Value[]): AsyncIterable<Row[]> {
    return this.#rows.batches(table, after);
  }

  progress({ name }: Table): Promise<TableProgress> {
    const row = this.handle.prepare(
      `SELECT rows, after, is_complete FROM ${PROGRESS} WHERE name = ?`,
    )
      .get(name) as { rows: number; after: string | null; is_complete: number } | undefined;
    return Promise.resolve(
      readProgress(row && { ...row, isComplete: row.is_complete === 1 }),
    );
  }

  /** @throws {StoreError} that names the table */
  append(table: Table, rows: readonly Row[], progress: TableProgress): Promise<void> {
    const places = table.columns.map(() => "?").join(", ");
    const insert = this.handle.prepare(
      `INSERT INTO "${table.name}" (${quoted(table.columns)}) VALUES (${places})`,
    );
    try {
      this.handle.transaction(() => {
        for (const row of rows) insert.run(...row);
        this.handle.prepare(`INSERT OR REPLACE INTO ${PROGRESS} VALUES (?, ?, ?, ?)`)
          .run(table.name, progress.rows, afterText(progress), progress.isComplete ? 1 : 0);
      })();
    } catch (error) {
      const reason = toError(error).message;
      return Promise.reject(
        new StoreError(
          "failed",
          `The rows of ${table.name} cannot be written to ${this.path}: ${reason}.`,
          error,
        ),
      );
    }
    return Promise.resolve();
  }

  forget({ name }: Table): Promise<void> {
    this.handle.transaction(() => {
      this.handle.exec(`DELETE FROM "${name}"`);
      this.handle.prepare(`DELETE FROM ${PROGRESS} WHERE name = ?`).run(name);
    })();
    return Promise.resolve();
  }

  /**
   * Checks references between rows, and closes the file with all on the disk.
   *
   * @param counted by table, the last number that it counted up to
   * @throws {StoreError}
   */
  finish(counted: ReadonlyMap<Table, bigint>): void {
    const [wrong] = this.handle.pragma("foreign_key_check") as { table: string; parent: string }[];
    if (wrong) {
      throw new StoreError(
        "failed",
        `A row of ${wrong.table} names one of ${wrong.parent} that is not there. Nothing was ` +
          "changed where the rows come from.",
      );
    }
    this.handle.pragma("synchronous = FULL");
    this.handle.transaction(() => {
      for (const [table, last] of counted) this.#countOn(table, last);
    })();
    closeSqlite(this.handle);
  }

  /** Removes what only the move needs. */
  static tidy(path: string): void {
    const handle = connect(path, addonFor(path), false);
    handle.exec(`DROP TABLE IF EXISTS ${PROGRESS}`);
    closeSqlite(handle);
  }

  /** The tables of a file that is complete. */
  static tablesOf(path: string): readonly Table[] {
    const handle = connect(path, addonFor(path), true);
    try {
      return new SqliteRows(handle).tables;
    } finally {
      handle.close();
    }
  }

  [Symbol.dispose](): void {
    if (this.handle.open) this.handle.close();
  }

  /** Empties the tables of a new file: a migration may have put rows in. */
  #begin(): void {
    if (hasProgress(this.handle)) return;
    this.handle.transaction(() => {
      for (const { name } of this.tables) this.handle.exec(`DELETE FROM "${name}"`);
      this.handle.exec(`CREATE TABLE ${PROGRESS} (
        name TEXT PRIMARY KEY, rows INTEGER NOT NULL, after TEXT, is_complete INTEGER NOT NULL)`);
    })();
  }

  #countOn({ name }: Table, last: bigint): void {
    const sql = this.handle.prepare<[string], string>(
      "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?",
    ).pluck().get(name);
    if (last === 0n || !sql?.includes("AUTOINCREMENT")) return;
    const { changes } = this.handle.prepare(
      "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?",
    ).run(last, name);
    if (changes > 0) return;
    this.handle.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, last);
  }
}

/** Whether a file of an earlier call can be continued: one of another version cannot. */
function isBegun(path: string, schema: number): boolean {
  if (!existsSync(path)) return false;
  const handle = connect(path, addonFor(path), true);
  try {
    const newest = handle.prepare("SELECT max(version) FROM schema_migrations").pluck().get();
    return hasProgress(handle) && newest === schema;
  } catch {
    return false; // nothing is lost: its rows are where they come from
  } finally {
    handle.close();
  }
}

function hasProgress(handle: Database): boolean {
  return handle.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(PROGRESS) !== undefined;
}
