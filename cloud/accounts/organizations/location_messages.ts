import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Location,
  type LocationAuth,
  LocationAuthSchema,
  LocationOrganizationSchema,
  LocationSchema,
  OrganizationIdentitySchema,
  SharedSecret_State,
  SharedSecretSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { sharesOf } from "../access/location_tree.ts";
import type { LocationRow, Scope } from "../access/scope.ts";
import type { SharedSecrets } from "../access/secrets.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

export interface LocationMessagesOptions {
  readonly queries: Queries;
  readonly secrets: SharedSecrets;
}

/**
 * Locations as a caller may see them: who manages one sees its secrets and with whom it is shared;
 * the others see of those their own organisations only.
 */
export async function toLocations(
  { queries, secrets }: LocationMessagesOptions,
  scope: Scope,
  rows: readonly LocationRow[],
): Promise<Location[]> {
  const counts = await machineCounts(scope, rows);
  const shares = await sharesOf(queries, rows.map(({ id }) => id));
  const names = await organizationNames(queries, rows);
  const seen = await seenAmong(scope, rows.flatMap(({ parent_id }) => parent_id ?? []));
  return await Promise.all(rows.map(async (row) => {
    const isManaged = scope.allows("manage", { orgId: row.org_id, locationId: row.id });
    const guests = new Set((shares.get(row.id) ?? []).map(({ orgId }) => orgId));
    const told = [...guests].filter((id) => isManaged || scope.orgIds.includes(id));
    const location = create(LocationSchema, {
      id: row.id,
      name: row.name,
      parentLocationId: row.parent_id !== null && seen.has(row.parent_id) ? row.parent_id : "",
      createdOn: timestampFromMs(row.created_at),
      robotCount: counts.get(row.id) ?? 0,
      organizations: [
        create(LocationOrganizationSchema, { organizationId: row.org_id, primary: true }),
        ...told.map((organizationId) =>
          create(LocationOrganizationSchema, { organizationId, primary: false })
        ),
      ],
      primaryOrgIdentity: create(OrganizationIdentitySchema, {
        id: row.org_id,
        name: names.get(row.org_id) ?? "",
      }),
    });
    if (isManaged) location.auth = await toLocationAuth(secrets, row.id);
    return location;
  }));
}

/** Machines by location, as many as the caller sees. */
async function machineCounts(
  scope: Scope,
  rows: readonly LocationRow[],
): Promise<Map<string, number>> {
  let query = scope.machines().select("machines.location_id")
    .select((eb) => eb.fn.countAll<number>().as("count")).groupBy("machines.location_id");
  const [only] = rows;
  if (only && rows.length === 1) query = query.where("machines.location_id", "=", only.id);
  return new Map((await query.execute()).map((row) => [row.location_id, Number(row.count)]));
}

async function organizationNames(
  queries: Queries,
  rows: readonly LocationRow[],
): Promise<Map<string, string>> {
  const ids = [...new Set(rows.map((row) => row.org_id))];
  if (ids.length === 0) return new Map();
  const found = await queries.selectFrom("organizations").select(["id", "name"])
    .where("id", "in", ids).execute();
  return new Map(found.map(({ id, name }) => [id, name]));
}

async function seenAmong(scope: Scope, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const found = await scope.locations().select("locations.id")
    .where("locations.id", "in", [...new Set(ids)]).execute();
  return new Set(found.map(({ id }) => id));
}

/** The secrets of a location, for its owners. */
export async function toLocationAuth(
  secrets: SharedSecrets,
  locationId: string,
): Promise<LocationAuth> {
  const all = await secrets.ofLocation(locationId);
  return create(LocationAuthSchema, {
    locationId,
    secret: all[0]?.value ?? "",
    secrets: all.map((secret) =>
      create(SharedSecretSchema, {
        id: secret.id,
        secret: secret.value,
        createdOn: timestampFromMs(secret.createdAtMs),
        state: SharedSecret_State.ENABLED,
      })
    ),
  });
}
