import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Action } from "../../../shared/rights/roles.ts";
import { type Caller, type Grant, grantsFor, organizationOf } from "./caller.ts";

/** Tables whose rows callers see by their grants. */
export type Reached = "locations" | "machines" | "parts" | "data_sources" | "sequences";

type Condition = (ids: readonly string[]) => RawBuilder<SqlBool>;

/** The column is one of these: one parameter, however many there are. */
export const among = (column: string, ids: readonly string[]): RawBuilder<SqlBool> =>
  ids.length === 1
    ? sql<SqlBool>`${sql.ref(column)} = ${ids[0]}`
    : sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(ids)}))`;

/** A condition by which no database looks for rows: it is evaluated for those found otherwise. */
export const checked = (condition: RawBuilder<SqlBool>): RawBuilder<SqlBool> =>
  sql<SqlBool>`case when ${condition} then 1 else 0 end = 1`;

const is = (column: string): Condition => (ids) => among(column, ids);

/** The row is the one that a row of another table with that id names. */
const namedBy = (column: string, table: string, name: string): Condition => (ids) =>
  sql<SqlBool>`${sql.ref(column)} in (select ${sql.ref(name)} from ${sql.table(table)} where ${
    among("id", ids)
  })`;

/** Which rows of each table a grant on each kind of resource reaches. */
const REACH: Readonly<Record<Reached, Readonly<Record<Grant["resource"], Condition>>>> = {
  locations: {
    organization: is("locations.org_id"),
    location: is("locations.id"),
    robot: namedBy("locations.id", "machines", "location_id"),
    part: namedBy("locations.id", "parts", "location_id"),
  },
  machines: {
    organization: is("machines.org_id"),
    location: is("machines.location_id"),
    robot: is("machines.id"),
    part: namedBy("machines.id", "parts", "machine_id"),
  },
  parts: {
    organization: is("parts.org_id"),
    location: is("parts.location_id"),
    robot: is("parts.machine_id"),
    part: is("parts.id"),
  },
  data_sources: {
    organization: is("data_sources.org_id"),
    location: is("data_sources.location_id"),
    robot: is("data_sources.machine_id"),
    part: is("data_sources.part_id"),
  },
  sequences: {
    organization: is("sequences.org_id"),
    location: is("sequences.location_id"),
    robot: is("sequences.machine_id"),
    part: is("sequences.part_id"),
  },
};

/**
 * The rows of a table on which the caller may do something: those that a grant reaches, within the
 * organisation of that grant whatever it names.
 */
export function reaches(caller: Caller, action: Action, table: Reached): RawBuilder<SqlBool> {
  const alike = Map.groupBy(
    grantsFor(caller, action),
    (grant) => `${grant.resource} ${organizationOf(caller, grant)}`,
  );
  const conditions = [...alike.values()].map((grants) => {
    const [{ resource }, orgId] = [grants[0]!, organizationOf(caller, grants[0]!)];
    const within = sql<SqlBool>`${sql.ref(`${table}.org_id`)} = ${orgId}`;
    const ids = [...new Set(grants.map(({ id }) => id))];
    return sql<SqlBool>`(${within} and ${REACH[table][resource](ids)})`;
  });
  return conditions.length === 0
    ? sql<SqlBool>`1 = 0`
    : sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}
