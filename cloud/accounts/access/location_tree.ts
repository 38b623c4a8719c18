import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Grant } from "./caller.ts";

/** Locations within one another, the outermost counted. */
export const DEEPEST_LOCATION = 10;

interface Below {
  readonly root: string;
  readonly id: string;
}

/** Locations with everything within them; the root itself is the first. */
async function locationsBelow(queries: Queries, roots: readonly string[]): Promise<Below[]> {
  if (roots.length === 0) return [];
  const { rows } = await sql<Below>`
    WITH RECURSIVE below (root, id) AS (
      SELECT id, id FROM locations
        WHERE id IN (SELECT value FROM json_each(${JSON.stringify(roots)}))
      UNION
      SELECT below.root, locations.id FROM below JOIN locations ON locations.parent_id = below.id
    )
    SELECT root, id FROM below`.execute(queries);
  return rows;
}

/** A location and those that it is in, from the inside out. */
export async function locationPath(queries: Queries, id: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    WITH RECURSIVE above (id, parent_id, level) AS (
      SELECT id, parent_id, 0 FROM locations WHERE id = ${id}
      UNION
      SELECT locations.id, locations.parent_id, level + 1
        FROM above JOIN locations ON locations.id = above.parent_id WHERE level < 100
    )
    SELECT id FROM above ORDER BY level`.execute(queries);
  return rows.map((row) => row.id);
}

/** Levels of locations within one, that one counted. */
export async function locationDepth(queries: Queries, id: string): Promise<number> {
  const { rows } = await sql<{ depth: number }>`
    WITH RECURSIVE below (id, level) AS (
      SELECT id, 1 FROM locations WHERE id = ${id}
      UNION
      SELECT locations.id, level + 1
        FROM below JOIN locations ON locations.parent_id = below.id WHERE level < 100
    )
    SELECT max(level) AS depth FROM below`.execute(queries);
  return rows[0]?.depth ?? 1;
}

/** An organisation that a location is shared with, directly or by one that it is in. */
export interface LocationShare {
  readonly orgId: string;
  /** The location that was shared. */
  readonly sharedId: string;
}

/** With whom locations are shared. */
export async function sharesOf(
  queries: Queries,
  ids: readonly string[],
): Promise<Map<string, LocationShare[]>> {
  const { rows } = await sql<{ leaf: string; org_id: string; id: string }>`
    WITH RECURSIVE above (leaf, id) AS (
      SELECT id, id FROM locations WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))
      UNION
      SELECT above.leaf, locations.parent_id FROM above JOIN locations ON locations.id = above.id
        WHERE locations.parent_id IS NOT NULL
    )
    SELECT leaf, org_id, id FROM above JOIN location_shares ON location_id = id
      ORDER BY leaf, shared_at, org_id`.execute(queries);
  const found = Map.groupBy(rows, (row) => row.leaf);
  return new Map(
    [...found].map(([leaf, of]) => [
      leaf,
      of.map((row) => ({ orgId: row.org_id, sharedId: row.id })),
    ]),
  );
}

/**
 * Grants with what they bring along: a role on a location counts in the locations within it, and
 * a role on a whole organisation, whichever it is, makes an operator of the locations that others
 * share with that organisation. Nobody becomes an owner by sharing: who changes a configuration
 * could take secrets along that outlast the end of the sharing.
 *
 * @param orgId the organisation of grants that name none
 */
export async function withLocations(
  queries: Queries,
  orgId: string,
  grants: readonly Grant[],
): Promise<Grant[]> {
  const onLocations = grants.filter(({ resource }) => resource === "location");
  const within = await locationsBelow(queries, onLocations.map(({ id }) => id));
  const below = Map.groupBy(within, ({ root }) => root);
  const expanded = grants.flatMap((grant): Grant[] =>
    grant.resource === "location"
      ? [grant, ...inner(below, grant.id).map((id) => ({ ...grant, id }))]
      : [grant]
  );
  return [...expanded, ...await sharedGrants(queries, orgId, grants)];
}

function inner(below: Map<string, Below[]>, root: string): string[] {
  return (below.get(root) ?? []).map(({ id }) => id).filter((id) => id !== root);
}

async function sharedGrants(
  queries: Queries,
  orgId: string,
  grants: readonly Grant[],
): Promise<Grant[]> {
  const orgIds = grants.filter(({ resource }) => resource === "organization")
    .map((grant) => grant.orgId ?? orgId);
  if (orgIds.length === 0) return [];
  const shares = await queries.selectFrom("location_shares")
    .innerJoin("locations", "locations.id", "location_shares.location_id")
    .select(["locations.id", "locations.org_id as home", "location_shares.org_id as guest"])
    .where("location_shares.org_id", "in", orgIds).execute();
  if (shares.length === 0) return [];
  const within = await locationsBelow(queries, [...new Set(shares.map(({ id }) => id))]);
  const below = Map.groupBy(within, ({ root }) => root);
  return shares.flatMap(({ id, home, guest }) =>
    [id, ...inner(below, id)].map((each): Grant => ({
      ...{ role: "operator", resource: "location", id: each, orgId: home, sharedWith: guest },
    }))
  );
}
