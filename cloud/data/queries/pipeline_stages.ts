import { deserialize, type Document } from "bson";
import { QueryRefusedError } from "./documents.ts";

/** The stages as documents. */
export function readPipeline(stages: readonly string[]): Document[] {
  return stages.map((stage, index) => {
    try {
      return deserialize(Uint8Array.fromBase64(stage));
    } catch (error) {
      throw new QueryRefusedError(`mql_binary[${index}] is no BSON document: ${String(error)}`);
    }
  });
}

/** The statement of a stage `$sql`; undefined: it is another one. */
export function statementOf(stage: Document | undefined): string | undefined {
  if (!stage || !("$sql" in stage)) return undefined;
  const { $sql, ...others } = stage;
  const { statement, ...more } = Object($sql) as { statement?: unknown };
  if (typeof statement === "string" && Object.keys({ ...others, ...more }).length === 0) {
    return statement;
  }
  throw new QueryRefusedError('$sql takes one statement: {"$sql": {"statement": "SELECT …"}}');
}
