import { Code, ConnectError } from "@connectrpc/connect";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { OrganizationRow } from "../access/scope.ts";

/** What somebody has to delete first: machines, or what took work. */
const HELD = [
  { table: "machines", what: "machines" },
  { table: "registry_items", what: "items in the registry" },
  { table: "fragments", what: "fragments" },
  { table: "archived_files", what: "captured data" },
  { table: "binary_data", what: "captured data" },
  { table: "datasets", what: "datasets" },
  { table: "sequences", what: "sequences" },
] as const;

/** What goes with an organisation; each comes before what it names. */
const GO_ALONG = [
  "training_jobs",
  "saved_queries",
  "enrollment_tokens",
  "data_uploads",
  "data_sources",
  "data_usage",
  "data_settings",
  "api_keys",
  "locations",
] as const;

/** @throws {ConnectError} FAILED_PRECONDITION with what has to be deleted first */
export async function requireEmpty(
  queries: Queries,
  { id, name }: OrganizationRow,
): Promise<void> {
  const first = await queries.selectFrom("organizations").select("id")
    .orderBy("created_at").orderBy("id").executeTakeFirst();
  if (first?.id === id) {
    throw new ConnectError(
      "this is the cloud's first organisation, whose owners keep the releases; it stays",
      Code.FailedPrecondition,
    );
  }
  for (const { table, what } of HELD) {
    const row = await queries.selectFrom(table).select("org_id").where("org_id", "=", id)
      .executeTakeFirst();
    if (row) throw holds(name, `${what}; delete them first`);
  }
  const readings = await queries.selectFrom("data_usage").select("readings")
    .where("org_id", "=", id).where("readings", ">", 0).executeTakeFirst();
  if (readings) throw holds(name, "captured data; delete them first");
  const job = await queries.selectFrom("training_jobs").select("id").where("org_id", "=", id)
    .where("state", "in", ["pending", "in_progress", "canceling"]).executeTakeFirst();
  if (job) throw holds(name, "a training that has not ended; cancel it first");
}

/** Deletes an organisation that is empty, with its keys, settings and what its data left behind. */
export async function removeOrganization(
  queries: Queries,
  { id }: OrganizationRow,
): Promise<void> {
  for (const table of GO_ALONG) {
    await queries.deleteFrom(table).where("org_id", "=", id).execute();
  }
  await queries.deleteFrom("organizations").where("id", "=", id).execute();
}

function holds(name: string, what: string): ConnectError {
  return new ConnectError(`organisation ${name} has ${what}`, Code.FailedPrecondition);
}
