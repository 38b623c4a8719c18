import type { Database } from "../../../shared/base/store/sqlite.ts";
import { readPipeline, statementOf } from "./pipeline_stages.ts";
import { type Needs, stageNarrowing } from "./narrowing.ts";
import type { QueryRequest } from "./query_form.ts";
import { statementNeeds } from "./statement_narrowing.ts";

/**
 * What a query needs of the readings.
 *
 * @param stub an empty database, in which constants are computed
 */
export function queryNeeds({ scope, query }: QueryRequest, stub: Database): Needs {
  const ofStatement = (text: string) =>
    statementNeeds(text, (expression) => worth(stub, expression));
  if (query.kind === "sql") return ofStatement(query.text);
  if (scope.pipelineId !== undefined) return { looks: [], data: false, uploads: false };
  const [first] = readPipeline(query.stages);
  const statement = statementOf(first);
  if (statement !== undefined) return ofStatement(statement);
  return { looks: [stageNarrowing(first)], data: true, uploads: true };
}

function worth(stub: Database, expression: string): unknown {
  try {
    return stub.prepare<[], unknown>(`SELECT (${expression})`).pluck().get();
  } catch {
    return undefined; // The statement fails by it, too, or never computes it.
  }
}
