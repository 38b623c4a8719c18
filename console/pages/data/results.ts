/** Queries and what they give. */
import { deserialize, type Document, EJSON, serialize } from "bson";
import { plain } from "../../design/values.ts";

/** The result of a query: rows, and the names that any of them has. */
export interface Result {
  readonly rows: readonly Document[];
  readonly columns: readonly string[];
}

/** More rows are not looked at for columns. */
const LOOKED_AT = 1_000;

/** Reads rows as the cloud sends them. */
export function resultOf(raw: readonly Uint8Array[]): Result {
  const rows = raw.map((bytes) => deserialize(bytes));
  const columns = [...new Set(rows.slice(0, LOOKED_AT).flatMap((row) => Object.keys(row)))];
  return { rows, columns };
}

/** A value in a table; times as ISO 8601. */
export function cellText(value: unknown): string {
  if (value === undefined) return "";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  return typeof value === "object" && value !== null ? EJSON.stringify(value) : plain(value);
}

/** All rows as JSON, one a line. */
export function asLines({ rows }: Result): string {
  return rows.map((row) => EJSON.stringify(row) + "\n").join("");
}

/**
 * The stages of an aggregation, in BSON.
 *
 * @param notList what is wrong when it is JSON and no list of objects
 * @throws SyntaxError that says what is wrong with the text
 */
export function stagesOf(text: string, notList: string): Uint8Array<ArrayBuffer>[] {
  const stages: unknown = EJSON.parse(text);
  const isStage = (stage: unknown) =>
    typeof stage === "object" && stage !== null && !Array.isArray(stage);
  if (!Array.isArray(stages) || !stages.every(isStage)) throw new SyntaxError(notList);
  return stages.map((stage: Document) => new Uint8Array(serialize(stage)));
}

/** A statement in SQL as a query is saved: the one stage `$sql`. */
export function sqlStages(statement: string): Uint8Array<ArrayBuffer>[] {
  return [new Uint8Array(serialize({ $sql: { statement } }))];
}

/** The statement of a saved query in SQL; undefined: it is one in MQL. */
export function sqlIn(raw: readonly Uint8Array[]): string | undefined {
  const [first, ...others] = raw;
  if (!first || others.length > 0) return undefined;
  const { $sql } = deserialize(first);
  const statement = typeof $sql === "object" && $sql !== null && "statement" in $sql
    ? $sql.statement
    : undefined;
  return typeof statement === "string" ? statement : undefined;
}

/** Stages of a saved query as text. */
export function stagesText(raw: readonly Uint8Array[]): string {
  return EJSON.stringify(raw.map((bytes) => deserialize(bytes)), undefined, 2);
}
