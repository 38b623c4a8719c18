import { deserialize, type Document } from "bson";
import { Aggregator } from "mingo";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import { QueryRefusedError, toDocument } from "./documents.ts";
import { readPipeline, statementOf } from "./pipeline_stages.ts";
import type { QueryScope } from "./query_form.ts";
import { stageNarrowing } from "./narrowing.ts";

/**
 * Runs an aggregation pipeline over the readings, or over what a data pipeline has kept. The
 * pipeline itself sees all readings that its first `$match` leaves, one after the other, or the
 * rows that its first stage `{$sql: {statement: "SELECT …"}}` gives.
 *
 * @param stages BSON documents in base64.
 * @param sqlRows Runs a statement in SQL.
 */
export function* mqlRows(
  database: Database,
  stages: readonly string[],
  scope: QueryScope,
  sqlRows: (statement: string) => IterableIterator<Document>,
): Iterable<Document> {
  const pipeline = readPipeline(stages);
  const statement = statementOf(pipeline[0]);
  if (statement !== undefined) {
    if (scope.pipelineId !== undefined) {
      throw new QueryRefusedError("$sql is for readings, not for what a data pipeline has kept");
    }
    const rows = sqlRows(statement);
    try {
      return yield* aggregated(rows, pipeline.slice(1));
    } finally {
      rows.return?.();
    }
  }
  const { rows, toDocument } = scope.pipelineId === undefined
    ? readings(database, pipeline[0])
    : pipelineResults(database, scope.orgId, scope.pipelineId);
  try {
    yield* aggregated(documentsOf(rows, toDocument), pipeline);
  } finally {
    rows.return?.();
  }
}

function* aggregated(rows: Iterable<Document>, pipeline: Document[]): Iterable<Document> {
  // Scripts in a query would run as this program.
  const results = new Aggregator(pipeline, { scriptEnabled: false }).stream(rows);
  for (let result = results.next(); !result.done; result = results.next()) {
    yield result.value as Document;
  }
}

/** The columns of the public form. */
const MQL_COLUMNS = [
  "organization_id",
  "location_id",
  "robot_id",
  "part_id",
  "component_type",
  "component_name",
  "method_name",
  "tags",
  "additional_parameters",
  "time_requested",
  "time_received",
  "data",
].join(", ");

type Row = Record<string, unknown>;

/** Rows of the database, and what a pipeline sees of each. */
interface Source {
  readonly rows: IterableIterator<Row>;
  readonly toDocument: (row: Row) => Document;
}

function readings(database: Database, first: Document | undefined): Source {
  const { conditions, values } = conditionsOf(first);
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
  const statement = database.prepare<(string | number)[], Row>(
    `SELECT ${MQL_COLUMNS} FROM temp.readings${where}`,
  );
  return { rows: statement.iterate(...values), toDocument };
}

/** Each document with the run that it came from, in the field that the public form has for it. */
function pipelineResults(database: Database, orgId: string, pipelineId: string): Source {
  const statement = database.prepare<string[], Row>(
    `SELECT r.id, r.data_from, r.data_to, x.document
     FROM main.data_pipelines p
     CROSS JOIN main.data_pipeline_runs r ON r.pipeline_seq = p.seq
     CROSS JOIN main.data_pipeline_results x ON x.run_seq = r.seq AND x.attempt = r.result_attempt
     WHERE p.id = ? AND p.org_id = ?
     ORDER BY r.data_from, x.position`,
  );
  return {
    rows: statement.iterate(pipelineId, orgId),
    toDocument: ({ id, data_from, data_to, document }) => ({
      ...deserialize(document as Uint8Array),
      _viam_pipeline_run: {
        id,
        interval: { start: new Date(Number(data_from)), end: new Date(Number(data_to)) },
        organization_id: orgId,
      },
    }),
  };
}

function* documentsOf(
  rows: Iterable<Row>,
  toDocument: (row: Row) => Document,
): Iterable<Document> {
  for (const row of rows) yield toDocument(row);
}

/** The stage is applied in full later. */
function conditionsOf(stage: Document | undefined) {
  const { texts, fromUs, toUs } = stageNarrowing(stage);
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  for (const [column, wanted] of texts) {
    conditions.push(`${column} IN (${wanted.map(() => "?").join(", ")})`);
    values.push(...wanted);
  }
  for (const [operator, us] of [[">=", fromUs], ["<=", toUs]] as const) {
    if (!Number.isFinite(us)) continue;
    conditions.push(`received_us ${operator} ?`);
    values.push(us);
  }
  return { conditions, values };
}
