/** Copies the rows of a cloud while it is served, and follows what changes there. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { toStoreError } from "../../../shared/base/store/store_error.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import { copyTables, type MoveDeps } from "./copy.ts";
import {
  ChangedRows,
  keepNoting,
  noteChanges,
  type NotedMoment,
  notedMoment,
} from "./noted_changes.ts";
import type { PostgresTarget } from "./postgres_target.ts";
import { type MoveSource, type Row, RowHash, type Table } from "./rows.ts";
import { SqliteRows } from "./sqlite_rows.ts";

/** `cloud.db` while a cloud serves from it. Its rows are read as they are at one moment. */
export class ServedMove implements Disposable {
  private constructor(
    private readonly db: Database,
    private readonly target: PostgresTarget,
    private readonly deps: MoveDeps,
    private readonly id: string,
  ) {}

  /**
   * Has changes noted from now on; where an earlier call to the same place was cut, it continues.
   *
   * @throws {StoreError} with one line for the operator.
   */
  static async begin(
    dataDir: string,
    target: PostgresTarget,
    deps: MoveDeps,
  ): Promise<ServedMove> {
    const path = join(dataDir, "cloud.db");
    const db = connect(path, addonFor(path), false);
    try {
      requireSchema(db, dataDir);
      const noted = await target.state() === "copying" ? await target.noted() : undefined;
      const moment = notedMoment(db);
      if (noted && moment?.id === noted.id) return new ServedMove(db, target, deps, noted.id);
      const id = randomUUID();
      await target.begin();
      noteChanges(db, new SqliteRows(db).tables, id);
      await target.note({ id, seq: 0n });
      faultPoint("move.noting");
      return new ServedMove(db, target, deps, id);
    } catch (error) {
      db.close();
      throw isBusy(error) ? toStoreError(error, { name: "cloud", path }) : error;
    }
  }

  /** Copies all rows, as they were at one moment, and compares them. */
  async copy(): Promise<void> {
    await this.#atOneMoment(async (moment) => {
      const rows = new SqliteRows(this.db);
      await applyChanges(this.db, this.target, this.deps);
      await copyTables(rows.tables, sourceOf(rows), this.target, this.deps);
      await this.target.note(moment);
    });
    faultPoint("move.served");
  }

  /** Brings what changed since the last call. */
  async follow(): Promise<void> {
    await this.#atOneMoment(async (moment) => {
      await applyChanges(this.db, this.target, this.deps);
      await this.target.note(moment);
    });
  }

  [Symbol.dispose](): void {
    this.db.close();
  }

  async #atOneMoment(work: (moment: NotedMoment) => Promise<void>): Promise<void> {
    this.db.exec("BEGIN");
    let moment: NotedMoment | undefined;
    try {
      moment = notedMoment(this.db); // the first read: the moment of all that follow
      if (moment?.id !== this.id) throw lostNotes();
      await work(moment);
    } finally {
      this.db.exec("COMMIT");
    }
    try {
      await keepNoting(this.db, moment, this.deps.clock);
    } catch (error) {
      if (!isBusy(error)) throw error; // else the next call does it
    }
    faultPoint("move.followed");
  }
}

/**
 * Brings the rows that changed after the last note of the target, and compares them. Those of tables
 * that are not complete are brought as far as these are.
 *
 * @param db at one moment, in a transaction
 * @returns whether its notes are those of the target: false, nothing was done
 */
export async function applyChanges(
  db: Database,
  target: PostgresTarget,
  { progress }: Pick<MoveDeps, "progress">,
): Promise<boolean> {
  const noted = await target.noted();
  if (!noted || notedMoment(db)?.id !== noted.id) return false;
  const { tables } = new SqliteRows(db);
  const changed = new ChangedRows(db, noted.seq);
  if (changed.count === 0) return true;
  progress(`bringing ${changed.count} rows that changed meanwhile`);
  // All of a table first: a name may have gone from one row to another.
  for (const table of tables) {
    if (!await isBegun(target, table)) continue;
    for (const keys of changed.keys(table)) {
      await target.remove(table, keys.map(({ there }) => there));
      faultPoint("move.change");
    }
  }
  for (const table of tables) {
    if (!await isBegun(target, table)) continue;
    const { after, isComplete } = await target.progress(table);
    for (const { keys, rows } of changed.batches(table, isComplete ? undefined : after)) {
      const now = await target.replace(table, keys.map(({ there }) => there), rows);
      if (hashOf(now) !== hashOf(rows)) throw notTheSame(table.name);
      faultPoint("move.change");
    }
  }
  return true;
}

async function isBegun(target: PostgresTarget, table: Table): Promise<boolean> {
  const { after, isComplete } = await target.progress(table);
  return isComplete || after !== undefined;
}

/**
 * @returns how many rows a table has
 * @throws {StoreError} where both sides have another number of them
 */
export async function compareCount(
  table: Table,
  rows: SqliteRows,
  target: PostgresTarget,
): Promise<number> {
  const count = rows.count(table);
  if (await target.count(table) !== count) throw notTheSame(table.name);
  return count;
}

function sourceOf(rows: SqliteRows): MoveSource {
  return {
    batches: (table, after) => rows.batches(table, after),
    count: (table) => Promise.resolve(rows.count(table)),
  };
}

/** Of rows in any order. */
function hashOf(rows: readonly Row[]): string {
  const hashes = rows.map((row) => {
    const hash = new RowHash();
    hash.add(row);
    return hash.digest().sha256;
  });
  return hashes.sort().join();
}

function isBusy(error: unknown): boolean {
  return (error as { code?: string }).code?.startsWith("SQLITE_BUSY") === true;
}

function requireSchema(db: Database, dataDir: string): void {
  const newest = db.prepare("SELECT max(version) FROM schema_migrations").pluck().get();
  if (newest === cloudMigrations.length) return;
  throw new StoreError(
    "failed",
    `${dataDir} is served by another version of this program. Serve it with this one first, or ` +
      "stop it",
  );
}

function lostNotes(): StoreError {
  return new StoreError(
    "failed",
    "Changes of cloud.db are not noted any more, as another move of it was begun or this one did " +
      "not get on for a day. Run it again",
  );
}

/** A copy that is not what it was copied from. */
export class NotTheSameError extends StoreError {}

function notTheSame(table: string): NotTheSameError {
  return new NotTheSameError(
    "failed",
    `The rows of ${table} are not the same on both sides after changes were brought. Nothing was ` +
      "changed where they come from; stop the cloud and run it again, which copies and compares all",
  );
}
