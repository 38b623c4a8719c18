import { dayOf } from "../archive/days.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import {
  type ArchivedPart,
  copyArchived,
  PIECE,
  pieceOf,
  type QueryPiece,
} from "./archived_copy.ts";
import {
  type CopyPlaces,
  openCopy,
  READINGS,
  SOURCES,
  UPLOADS,
  type Within,
  withinOf,
} from "./copy_database.ts";
import type { Needs } from "./narrowing.ts";
import { MOST_READ_BYTES, MOST_READ_ROWS, type QueryScope } from "./query_form.ts";
import { GRANTED, SOURCE_COLUMNS } from "./readings_view.ts";
import { TooManyReadingsError } from "./copy_errors.ts";
import { type CopyBounds, CopySize } from "./copy_size.ts";

/** Whether an organisation has readings that were moved to files. */
export function hasArchive(database: Database, { orgId }: QueryScope): boolean {
  const sql = "SELECT 1 FROM main.archived_files WHERE org_id = ? LIMIT 1";
  return database.prepare<[string]>(sql).get(orgId) !== undefined;
}

/** Whether a query looks at readings that were moved to files. */
export function looksAtArchive(database: Database, scope: QueryScope, needs: Needs): boolean {
  if (scope.grants.length === 0 || needs.looks.length === 0) return false;
  const sources = sourcesOf(database, "main", scope, needs);
  return piecesOf(database, "main", withinOf(scope, needs, sources), 1).length > 0;
}

/**
 * What a query needs, copied from `cloud.db` and from files, so that they are one table.
 *
 * @param path of `cloud.db`
 * @throws {TooManyReadingsError}, {DiskFullError}, or what a file reports
 */
export async function copyLocal(
  path: string,
  scope: QueryScope,
  needs: Needs,
  { addon, files }: CopyPlaces,
  bounds: CopyBounds = { rows: MOST_READ_ROWS, bytes: MOST_READ_BYTES },
): Promise<Database> {
  const database = openCopy(addon, bounds);
  const size = new CopySize(database, bounds);
  try {
    // Open for writing as the copy is, but only read: no query has run on this connection yet.
    database.prepare<[string]>("ATTACH ? AS cloud").run(path);
    const part = new LocalCopy(database, { scope, needs, mostRows: bounds.rows, size }).all();
    database.exec("DETACH cloud"); // The query itself reaches what was copied, and no more.
    await copyArchived(database, part, { files, needs, mostRows: bounds.rows, size });
    return database;
  } catch (error) {
    database.close();
    throw size.failure(error);
  }
}

/** Readings of one statement: what they take is known before the disk is full. */
const ROWS_AT_ONCE = 500;

interface CopyOptions {
  readonly scope: QueryScope;
  readonly needs: Needs;
  readonly mostRows: number;
  readonly size: CopySize;
}

/** Copies all that is in the database, and finds what files have, as they are at one moment. */
class LocalCopy {
  constructor(private readonly database: Database, private readonly options: CopyOptions) {}

  all(): ArchivedPart {
    const { database, options: { scope, needs } } = this;
    database.exec("BEGIN");
    const within = withinOf(scope, needs, sourcesOf(database, "cloud", scope, needs));
    const sources = JSON.stringify(within.sources);
    this.#copy("data_sources", SOURCES, `cloud.data_sources x WHERE x.id IN ${LISTED}`, [sources]);
    for (const [table, column] of [["machines", "machine_id"], ["parts", "part_id"]] as const) {
      const named = `x.id IN (SELECT ${column} FROM main.data_sources)`;
      this.#copy(table, ["id", "name"], `cloud.${table} x WHERE ${named}`, []);
    }
    let rows = 0;
    for (const source of within.sources) {
      if (needs.uploads) rows += this.#uploads(source, within, rows);
      rows += this.#readings(source, within, rows);
    }
    const pieces = piecesOf(database, "cloud", within, -1);
    database.exec("COMMIT");
    return { within, pieces, rows };
  }

  /** In pieces, in the order of an index. @returns how many */
  #uploads(source: unknown, { fromUs, toUs }: Within, before: number): number {
    const { database, options: { mostRows } } = this;
    const from = `cloud.data_uploads x
      WHERE x.source_id = ? AND x.max_received_us >= ? AND x.min_received_us <= ?
      AND x.digest > ? ORDER BY x.digest LIMIT ${ROWS_AT_ONCE}`;
    const last = database.prepare<[unknown], string>(
      "SELECT max(digest) FROM main.data_uploads WHERE source_id = ?",
    ).pluck();
    const span = [bounded(fromUs), bounded(toUs)];
    for (let rows = 0, after = "";;) {
      const count = this.#copy("data_uploads", UPLOADS, from, [source, ...span, after]);
      rows += count;
      if (before + rows > mostRows) throw new TooManyReadingsError();
      if (count < ROWS_AT_ONCE) return rows;
      after = last.get(source) ?? after;
    }
  }

  /** In pieces, in the order of the key. @returns how many */
  #readings(source: unknown, { fromUs, toUs }: Within, before: number): number {
    const { database, options: { needs, mostRows } } = this;
    const columns = [...READINGS, needs.data ? "data" : NO_DATA];
    const from = `cloud.tabular_readings x WHERE x.source_id = ?
      AND (x.received_us, x.upload_id, x.position) > (?, ?, ?) AND x.received_us <= ?
      ORDER BY x.received_us, x.upload_id, x.position LIMIT ${ROWS_AT_ONCE}`;
    const last = database.prepare<[unknown], number[]>(
      `SELECT received_us, upload_id, position FROM main.tabular_readings WHERE source_id = ?
       ORDER BY received_us DESC, upload_id DESC, position DESC LIMIT 1`,
    ).raw();
    let after = [bounded(fromUs), -1, -1];
    for (let rows = 0;;) {
      const count = this.#copy("tabular_readings", columns, from, [
        ...[source, ...after, bounded(toUs)],
      ]);
      rows += count;
      if (before + rows > mostRows) throw new TooManyReadingsError();
      if (count < ROWS_AT_ONCE) return rows;
      after = last.get(source) ?? after;
    }
  }

  /** @returns how many rows */
  #copy(table: string, columns: readonly string[], from: string, values: unknown[]): number {
    const names = columns.map((column) => column === NO_DATA ? "data" : column);
    const read = columns.map((column) => column === NO_DATA ? column : `x.${column}`);
    this.options.size.next(0);
    try {
      return this.database.prepare(
        `INSERT INTO main.${table} (${names.join(", ")}) SELECT ${read.join(", ")} FROM ${from}`,
      ).run(...values).changes;
    } catch (error) {
      const long = columns.includes(NO_DATA) ? undefined : LONG_TEXTS.get(table);
      if (long) this.options.size.longer(this.#charactersOf(long, from, values));
      throw error;
    }
  }

  #charactersOf(long: string, from: string, values: unknown[]): number {
    const sql = `SELECT coalesce(sum(n), 0) FROM (SELECT ${long} AS n FROM ${from})`;
    return this.database.prepare<unknown[], number>(sql).pluck().get(...values) ?? 0;
  }
}

/** In place of the JSON where nobody looks at it. */
const NO_DATA = "'{}'";
/** By table: the characters of what callers choose the length of. */
const LONG_TEXTS: ReadonlyMap<string, string> = new Map([
  ["tabular_readings", "length(x.data)"],
  ["data_uploads", "length(x.tags) + length(x.parameters)"],
]);
const LISTED = "(SELECT value FROM json_each(?))";

/** Ids of the sources that a query looks at. */
function sourcesOf(
  database: Database,
  schema: "main" | "cloud",
  { orgId, grants }: QueryScope,
  { looks }: Needs,
): number[] {
  const values: string[] = [orgId];
  const one = (column: string, texts: readonly string[]) => {
    values.push(JSON.stringify(texts));
    return `${column} IN ${LISTED}`;
  };
  const granted = grants.map(({ resource, id }) => one(GRANTED[resource], [id]));
  const looked = looks.map(({ texts }) =>
    ["true", ...[...texts].map(([name, wanted]) => one(SOURCE_COLUMNS.get(name) ?? name, wanted))]
      .join(" AND ")
  );
  return database.prepare<string[], number>(
    `SELECT s.id FROM ${schema}.data_sources s WHERE s.org_id = ?
     AND (${granted.join(" OR ")}) AND (${looked.join(" OR ")}) ORDER BY s.id`,
  ).pluck().all(...values);
}

/** What files have of some sources. @param most of them; -1: all */
function piecesOf(
  database: Database,
  schema: "main" | "cloud",
  { sources, fromUs, toUs }: Within,
  most: number,
): QueryPiece[] {
  const rows = database.prepare<(string | number)[], unknown[]>(
    `SELECT ${PIECE.map(([, sql]) => sql).join(", ")} FROM ${schema}.archived_sources a
     JOIN ${schema}.archived_files f ON f.id = a.file_id
     WHERE a.source_id IN ${LISTED} AND a.day BETWEEN ? AND ?
     AND a.max_received_us >= ? AND a.min_received_us <= ?
     ${most === 1 ? "" : "ORDER BY a.file_id, a.first_row"} LIMIT ?`,
  ).raw().all(
    ...[JSON.stringify(sources), dayOf(bounded(fromUs)), dayOf(bounded(toUs))],
    ...[bounded(fromUs), bounded(toUs), most],
  );
  return rows.map(pieceOf);
}

/** Whole numbers have an end. */
function bounded(us: number): number {
  return Math.min(Math.max(us, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
