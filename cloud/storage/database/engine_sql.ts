import { PostgresAdapter, type RawBuilder, sql } from "kysely";
import type { Queries } from "./cloud_database.ts";

/** Which engine answers queries. */
export function isPostgres(queries: Queries): boolean {
  return queries.getExecutor().adapter instanceof PostgresAdapter;
}

/** Parts of a query about numbers in JSON texts. */
export interface JsonNumbers {
  /** What lies at a path of a column: `$."readings"."temperature"`. */
  readonly value: (column: string, path: string) => RawBuilder<unknown>;
  /** Whether such a value, with this name, is a number. */
  readonly isNumber: (name: string) => RawBuilder<boolean>;
  /** The sum of such values, which no number of them is too large for. */
  readonly sum: (name: string) => RawBuilder<number>;
  /** The quotient of two numbers, towards zero. */
  readonly quotient: (dividend: RawBuilder<unknown>, divisor: number) => RawBuilder<number>;
}

/** The form that the engine of these queries has for them. */
export function jsonNumbers(queries: Queries): JsonNumbers {
  return isPostgres(queries) ? POSTGRES : SQLITE;
}

const SQLITE: JsonNumbers = {
  value: (column, path) => sql`json_extract(${sql.ref(column)}, ${path})`,
  isNumber: (name) => sql`typeof(${sql.ref(name)}) in ('integer', 'real')`,
  sum: (name) => sql`total(${sql.ref(name)})`,
  quotient: (dividend, divisor) => sql`cast((${dividend}) / ${divisor} as integer)`,
};

/** `json_number` is a function of ours: null for what is no number. */
const POSTGRES: JsonNumbers = {
  value: (column, path) => sql`json_number(${sql.ref(column)}, ${path})`,
  isNumber: (name) => sql`${sql.ref(name)} is not null`,
  sum: (name) => sql`sum(${sql.ref(name)})`,
  quotient: (dividend, divisor) =>
    sql`cast(trunc(cast(${dividend} as float8) / ${divisor}) as bigint)`,
};
