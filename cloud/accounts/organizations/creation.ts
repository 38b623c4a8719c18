import type { Queries } from "../../storage/database/cloud_database.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";

/** What making something needs; `queries` is a transaction. */
export interface Creation {
  readonly queries: Queries;
  readonly random: Random;
  readonly now: Date;
}

const LOCATION_ID_LENGTH = 10;

export async function createOrganization(
  { queries, random, now }: Creation,
  name: string,
): Promise<string> {
  const id = random.uuid();
  await queries.insertInto("organizations").values({ id, name, created_at: now.getTime() })
    .execute();
  return id;
}

/** Makes a location with its first secret. */
export async function createLocation(
  { queries, random, now }: Creation,
  location: { orgId: string; name: string; parentId?: string | undefined },
): Promise<string> {
  const id = alphanumeric(random, LOCATION_ID_LENGTH);
  const created_at = now.getTime();
  await queries.insertInto("locations")
    .values({
      ...{ id, org_id: location.orgId, name: location.name, created_at },
      parent_id: location.parentId ?? null,
    }).execute();
  await queries.insertInto("location_secrets")
    .values({ id: random.uuid(), location_id: id, created_at, state: "enabled" }).execute();
  return id;
}
