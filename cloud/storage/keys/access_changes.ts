import { recordChange } from "../database/change_feed.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { ResourceType } from "../database/schema.ts";

/** Of no part, so that no machine is notified; the cloud's own streams and callers are. */
const NO_PART = "";
/** Where more machines are concerned, all are notified. */
const MOST_MACHINES = 100;

/**
 * Notes that somebody came, went or changed who may do what `grants` say, before or after. Only the
 * parts of single machines are notified where they are for nothing else, nobody where there are
 * none, and the whole organisation otherwise. Call it in the transaction that makes the change, and
 * read the grants in it.
 */
export async function recordAccessChange(
  queries: Queries,
  orgId: string,
  grants: readonly { readonly resource: ResourceType; readonly id: string }[],
  now: Date,
): Promise<void> {
  for (const partId of await partsConcerned(queries, grants)) {
    await recordChange(queries, { orgId, partId, kind: "access" }, now);
  }
}

/** Undefined among them: all. */
async function partsConcerned(
  queries: Queries,
  grants: readonly { readonly resource: ResourceType; readonly id: string }[],
): Promise<(string | undefined)[]> {
  if (grants.length === 0) return [NO_PART];
  const machines = [...new Set(grants.map(({ id }) => id))];
  const isWide = grants.some(({ resource }) => resource !== "robot");
  if (isWide || machines.length > MOST_MACHINES) return [undefined];
  const parts = await queries.selectFrom("parts").select("id")
    .where("machine_id", "in", machines).execute();
  return parts.length === 0 ? [undefined] : parts.map(({ id }) => id);
}
