import { UsageError } from "../../../shared/base/flags/flags.ts";
import { Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/**
 * What a command that works on a data folder may do: everything in one organisation, because who
 * may read the folder may do everything in it.
 *
 * @param organization id or name; needed when the folder has several
 * @param command what history names: `machine-cloud trigger`
 * @throws {UsageError} that says which organisations there are
 */
export async function folderOwner(
  queries: Queries,
  organization: string | undefined,
  command: string,
): Promise<Scope> {
  const id = await chooseOrganization(queries, organization);
  return new Scope(queries, {
    actor: { type: "api-key", id: command },
    orgId: id,
    grants: [{ role: "owner", resource: "organization", id }],
  });
}

async function chooseOrganization(queries: Queries, wanted: string | undefined): Promise<string> {
  const rows = await queries.selectFrom("organizations").select(["id", "name"]).orderBy("name")
    .execute();
  const fitting = rows.filter(({ id, name }) =>
    wanted === undefined || [id, name].includes(wanted)
  );
  const [only] = fitting;
  if (only && fitting.length === 1) return only.id;
  if (rows.length === 0) {
    throw new UsageError("there is no organisation yet; make one with machine-cloud bootstrap");
  }
  const all = rows.map(({ id, name }) => `${name} (${id})`).join(", ");
  const problem = wanted === undefined
    ? "several organisations are there"
    : `--org: ${only ? "several are" : "none is"} called ${JSON.stringify(wanted)}`;
  throw new UsageError(`${problem}; name one with --org: ${all}`);
}
