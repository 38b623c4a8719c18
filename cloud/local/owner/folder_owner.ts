import { organizationOf } from "../../../shared/commands/choice/organization.ts";
import type { Caller } from "../../accounts/access/caller.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/**
 * What a command that works on a data folder may do: everything in one organisation, or in all of
 * them, because who may read the folder may do everything in it.
 *
 * @param organization id, name or namespace; left out: all that there are, which may be none
 * @throws {UsageError} that says which organisations there are
 */
export async function folderOwner(
  queries: Queries,
  organization: string | undefined,
): Promise<Caller> {
  const all = await listOrganizations(queries);
  const chosen = organization === undefined ? all : [organizationOf(all, organization)];
  return {
    actor: { type: "api-key", id: "machine-cloud" },
    orgId: chosen[0]?.id ?? "",
    grants: chosen.map(({ id }) => ({ role: "owner", resource: "organization", id, orgId: id })),
  };
}

/**
 * The one organisation of a data folder that a command is about.
 *
 * @param wanted id, name or namespace; needed when the folder has several
 * @returns its id
 * @throws {UsageError} that says which organisations there are
 */
export async function chosenOrganization(
  queries: Queries,
  wanted: string | undefined,
): Promise<string> {
  return organizationOf(await listOrganizations(queries), wanted).id;
}

async function listOrganizations(queries: Queries) {
  const rows = await queries.selectFrom("organizations").select(["id", "name", "namespace"])
    .orderBy("created_at").orderBy("id").execute();
  return rows.map(({ id, name, namespace }) => ({ id, name, publicNamespace: namespace ?? "" }));
}
