import { type Document, serialize } from "bson";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import {
  ArchiveDamagedError,
  type ArchiveFiles,
  ArchiveGoneError,
} from "../archive/archive_files.ts";
import { QueryRefusedError, toDocument } from "./documents.ts";
import {
  MOST_BYTES,
  MOST_ROWS,
  type QueryAnswer,
  type QueryTask,
  type RemoteReadings,
} from "./query_form.ts";
import { copyLocal, hasArchive, looksAtArchive } from "./local_readings.ts";
import { TooManyReadingsError } from "./copy_errors.ts";
import { READINGS_STUB, readingsView } from "./readings_view.ts";
import { statementProblem } from "./statement_check.ts";

export interface QueryOutcome {
  readonly answer: QueryAnswer;
  readonly documents: readonly Uint8Array[];
}

/** The readings could not be read, whatever the query is. */
class ReadFailedError extends Error {
  override readonly name = "ReadFailedError";
}

/** How often what is read may be replaced meanwhile. */
const ATTEMPTS = 3;

class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";
}

/** Where queries run. */
export interface QueryPlaces {
  /** `cloud.db`, read-only; undefined: the readings are on PostgreSQL. */
  readonly database: Database | undefined;
  /**
   * An empty database in memory, against which each query is compiled first: a query that names any
   * other table than the one that is there does not compile.
   */
  readonly stub: Database;
  /** See `addonFor`. */
  readonly addon: string | undefined;
  /** Reads old readings. */
  readonly files: ArchiveFiles;
}

/**
 * Runs one query, and holds its thread up for as long as it takes: call it only in a process that
 * can be killed.
 */
export async function runQuery(places: QueryPlaces, task: QueryTask): Promise<QueryOutcome> {
  const { stub } = places;
  const { scope, query } = task;
  let database: Database | undefined;
  try {
    if (query.kind === "sql") compile(stub, query.text);
    database = task.remote ? await copied(places, task, task.remote) : await local(places, task);
    database.exec(readingsView(scope));
    const rows = sqlRows.bind(undefined, database, stub);
    if (query.kind === "sql") return collect(rows(query.text));
    const { mqlRows } = await import("./mql.ts");
    return collect(mqlRows(database, query.stages, scope, rows));
  } catch (error) {
    return { answer: failureOf(error), documents: [] };
  } finally {
    if (database === places.database) {
      database?.exec("DROP VIEW IF EXISTS temp.readings");
      if (database?.inTransaction) database.exec("COMMIT");
    } else database?.close();
  }
}

/** `cloud.db` itself; when the query looks at old readings, a copy of what it needs. */
async function local(places: QueryPlaces, task: QueryTask): Promise<Database> {
  const { database, stub } = places;
  if (!database) throw new ReadFailedError("there is no cloud.db");
  // What is found here stays as it is until the query has ended.
  database.exec("BEGIN");
  try {
    if (task.scope.pipelineId !== undefined || !hasArchive(database, task.scope)) return database;
    const { queryNeeds } = await import("./query_needs.ts");
    const needs = queryNeeds(task, stub);
    if (!looksAtArchive(database, task.scope, needs)) return database;
    database.exec("COMMIT");
    return await attempted(() => copyLocal(database.name, task.scope, needs, places));
  } catch (error) {
    if (database.inTransaction) database.exec("COMMIT");
    throw error;
  }
}

async function copied(
  places: QueryPlaces,
  task: QueryTask,
  remote: RemoteReadings,
): Promise<Database> {
  const [{ queryNeeds }, { copyReadings }] = await Promise.all([
    import("./query_needs.ts"),
    import("./remote_readings.ts"),
  ]);
  const needs = queryNeeds(task, places.stub);
  return await attempted(() => copyReadings(remote, task.scope, needs, places));
}

/** Copies; once more when a file was replaced meanwhile. */
async function attempted(copy: () => Promise<Database>): Promise<Database> {
  for (let attempt = 1;; attempt++) {
    try {
      const database = await copy();
      prepare(database);
      return database;
    } catch (error) {
      if (error instanceof TooManyReadingsError || error instanceof ArchiveDamagedError) {
        throw error;
      }
      if (error instanceof ArchiveGoneError && attempt < ATTEMPTS) continue;
      throw new ReadFailedError(toError(error).message, { cause: error });
    }
  }
}

/** Settings of a connection on which queries run. */
export function prepare(database: Database): void {
  database.pragma("trusted_schema = OFF");
  database.pragma("temp_store = MEMORY");
}

/** Makes the table in the database that {@link runQuery} compiles against. */
export function prepareStub(stub: Database): void {
  stub.exec(READINGS_STUB);
}

function* sqlRows(database: Database, stub: Database, text: string): IterableIterator<Document> {
  compile(stub, text);
  for (const row of compile(database, text).iterate()) yield toDocument(row);
}

function compile(database: Database, text: string) {
  const problem = statementProblem(text);
  if (problem !== undefined) throw new QueryRefusedError(problem);
  const statement = database.prepare<[], Record<string, unknown>>(text);
  if (statement.reader && statement.readonly) return statement;
  throw new QueryRefusedError("it must be one SELECT");
}

function collect(rows: Iterable<Document>): QueryOutcome {
  const documents: Uint8Array[] = [];
  let bytes = 0;
  for (const row of rows) {
    const document = serialize(row, { ignoreUndefined: true });
    bytes += document.length;
    if (documents.length === MOST_ROWS || bytes > MOST_BYTES) {
      throw new AnswerTooLargeError(
        `the answer has more than ${MOST_ROWS} rows or ${MOST_BYTES} bytes; narrow it, or ask ` +
          "for it in parts",
      );
    }
    documents.push(document);
  }
  return { answer: { kind: "rows", rows: documents.length, bytes }, documents };
}

function failureOf(error: unknown): QueryAnswer {
  const { message, code } = error as { message?: string; code?: string };
  const text = message ?? String(error);
  if (error instanceof QueryRefusedError) return { kind: "refused", message: text };
  if (error instanceof ReadFailedError) return { kind: "failed", message: text };
  if (error instanceof ArchiveDamagedError) {
    return { kind: "damaged", id: error.id, message: text };
  }
  if (error instanceof AnswerTooLargeError || error instanceof TooManyReadingsError) {
    return { kind: "too-large", message: text };
  }
  if (code === "SQLITE_NOMEM") {
    return { kind: "too-large", message: "the query needs too much memory; narrow it" };
  }
  // SQLITE_ERROR is what SQLite says of a query; the others are about the file.
  const isAboutFile = code?.startsWith("SQLITE_") &&
    !/^SQLITE_(ERROR|TOOBIG|MISMATCH|RANGE)/.test(code);
  return { kind: isAboutFile ? "failed" : "refused", message: text };
}
