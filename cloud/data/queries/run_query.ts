import { type Document, serialize } from "bson";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import { QueryRefusedError, toDocument } from "./documents.ts";
import { MOST_BYTES, MOST_ROWS, type QueryAnswer, type QueryRequest } from "./query_form.ts";
import { READINGS_STUB, readingsView } from "./readings_view.ts";
import { statementProblem } from "./statement_check.ts";

export interface QueryOutcome {
  readonly answer: QueryAnswer;
  readonly documents: readonly Uint8Array[];
}

class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";
}

/**
 * Runs one query on a read-only connection, and holds it up for as long as it takes: call it only
 * in a process that can be killed.
 *
 * @param stub an empty database in memory, against which each query is compiled first: a query
 * that names any other table than the one that is there does not compile.
 */
export async function runQuery(
  database: Database,
  stub: Database,
  request: QueryRequest,
): Promise<QueryOutcome> {
  try {
    database.exec(readingsView(request.scope));
    const { query } = request;
    if (query.kind === "sql") return collect(sqlRows(database, stub, query.text));
    const { mqlRows } = await import("./mql.ts");
    const sql = (text: string) => sqlRows(database, stub, text);
    return collect(mqlRows(database, query.stages, request.scope, sql));
  } catch (error) {
    return { answer: failureOf(error), documents: [] };
  } finally {
    database.exec("DROP VIEW IF EXISTS temp.readings");
  }
}

/** Makes the table in the database that {@link runQuery} compiles against. */
export function prepareStub(stub: Database): void {
  stub.exec(READINGS_STUB);
}

function* sqlRows(database: Database, stub: Database, text: string): IterableIterator<Document> {
  const problem = statementProblem(text);
  if (problem !== undefined) throw new QueryRefusedError(problem);
  for (const handle of [stub, database]) {
    const statement = handle.prepare(text);
    if (!statement.reader || !statement.readonly) {
      throw new QueryRefusedError("it must be one SELECT");
    }
  }
  const statement = database.prepare<[], Record<string, unknown>>(text);
  for (const row of statement.iterate()) yield toDocument(row);
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
  if (error instanceof AnswerTooLargeError) return { kind: "too-large", message: text };
  if (code === "SQLITE_NOMEM") {
    return { kind: "too-large", message: "the query needs too much memory; narrow it" };
  }
  // SQLITE_ERROR is what SQLite says of a query; the others are about the file.
  const isAboutFile = code?.startsWith("SQLITE_") &&
    !/^SQLITE_(ERROR|TOOBIG|MISMATCH|RANGE)/.test(code);
  return { kind: isAboutFile ? "failed" : "refused", message: text };
}
