import { sql } from "kysely";
import { recordChange } from "../database/change_feed.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { ResourceType } from "../database/schema.ts";

/** Of no part, so that no machine is notified; the cloud's own streams and callers are. */
const NO_PART = "";
/** Where more parts are concerned, all are notified. */
const MOST_PARTS = 200;

/**
 * Notes that somebody came, went or changed who may do what `grants` say, before or after. Only the
 * parts of single machines and locations are notified where they are for nothing else, nobody where
 * there are none, and the whole organisation otherwise. Call it in the transaction that makes the
 * change, and read the grants in it.
 */
export async function recordAccessChange(
  queries: Queries,
  orgId: string,
  grants: readonly Concerned[],
  now: Date,
): Promise<void> {
  const found = await partsConcerned(queries, grants);
  if (found === undefined) {
    return await recordChange(queries, { orgId, partId: undefined, kind: "access" }, now);
  }
  const parts = found.length > 0 ? found : [NO_PART];
  const rest = { org_id: orgId, kind: "access", created_at: now.getTime() } as const;
  const rows = parts.map((part_id) => ({ ...rest, part_id }));
  await queries.insertInto("changes").values(rows).execute();
}

/** What somebody may do something with. */
interface Concerned {
  readonly resource: ResourceType;
  readonly id: string;
}

/** Undefined: all. */
async function partsConcerned(
  queries: Queries,
  grants: readonly Concerned[],
): Promise<string[] | undefined> {
  if (grants.length === 0) return [];
  if (grants.some(({ resource }) => resource === "organization")) return undefined;
  const ids = (of: ResourceType) =>
    JSON.stringify(grants.filter(({ resource }) => resource === of).map(({ id }) => id));
  const { rows } = await sql<{ id: string }>`
    WITH RECURSIVE below (id) AS (
      SELECT id FROM locations WHERE id IN (SELECT value FROM json_each(${ids("location")}))
      UNION
      SELECT locations.id FROM below JOIN locations ON locations.parent_id = below.id
    )
    SELECT id FROM parts WHERE location_id IN (SELECT id FROM below)
    UNION
    SELECT id FROM parts WHERE machine_id IN (SELECT value FROM json_each(${ids("robot")}))
    LIMIT ${MOST_PARTS + 1}`.execute(queries);
  return rows.length <= MOST_PARTS ? rows.map(({ id }) => id) : undefined;
}
