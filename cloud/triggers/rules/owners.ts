import { locationPath } from "../../accounts/access/location_tree.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ResourceType } from "../../storage/database/schema.ts";

/** Where a machine stands, for whoever owns something of it. */
export interface OwnedMachine {
  readonly organizationId: string;
  readonly locationId: string;
  readonly machineId: string;
}

/** Something that has owners. */
export interface Owned {
  readonly type: ResourceType;
  readonly id: string;
}

/**
 * E-mail addresses of those who own a machine, one of the locations that it is in, or its
 * organisation; each once.
 */
export async function ownersOf(queries: Queries, machine: OwnedMachine): Promise<string[]> {
  const path = await locationPath(queries, machine.locationId);
  const rows = await queries.selectFrom("owner_emails").select("email").distinct()
    .where("org_id", "=", machine.organizationId)
    .where((eb) =>
      eb.or([
        eb.and({ resource_type: "organization", resource_id: machine.organizationId }),
        eb.and([
          eb("resource_type", "=", "location"),
          eb("resource_id", "in", path),
        ]),
        eb.and({ resource_type: "robot", resource_id: machine.machineId }),
      ])
    )
    .orderBy("email").execute();
  return rows.map((row) => row.email);
}

/** The addresses that were set for one thing. */
export async function readOwners(queries: Queries, orgId: string, owned: Owned): Promise<string[]> {
  const rows = await queries.selectFrom("owner_emails").select("email")
    .where("org_id", "=", orgId).where("resource_type", "=", owned.type)
    .where("resource_id", "=", owned.id).orderBy("email").execute();
  return rows.map((row) => row.email);
}

/** Sets the addresses for one thing in place of those before. */
export async function writeOwners(
  queries: Queries,
  orgId: string,
  owned: Owned,
  emails: readonly string[],
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    await transaction.deleteFrom("owner_emails").where("org_id", "=", orgId)
      .where("resource_type", "=", owned.type).where("resource_id", "=", owned.id).execute();
    const rows = [...new Set(emails)].map((email) => ({
      org_id: orgId,
      resource_type: owned.type,
      resource_id: owned.id,
      email,
    }));
    if (rows.length > 0) await transaction.insertInto("owner_emails").values(rows).execute();
  });
}
