import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type Location,
  type LocationAuth,
  LocationAuthSchema,
  LocationOrganizationSchema,
  LocationSchema,
  type Organization,
  OrganizationIdentitySchema,
  OrganizationSchema,
  SharedSecret_State,
  SharedSecretSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Callers } from "../access/callers.ts";
import type { LocationRow, OrganizationRow, Scope } from "../access/scope.ts";
import type { SharedSecrets } from "../access/secrets.ts";
import { toImport } from "./default_fragments.ts";

export interface OrganizationMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly secrets: SharedSecrets;
}

/** The calls of AppService about organisations and locations. */
export function organizationMethods(
  { callers, secrets }: OrganizationMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async listOrganizations(_request, context) {
      const scope = await callers.scope(context);
      const rows = await scope.organizations().selectAll("organizations").execute();
      return { organizations: rows.map(toOrganization) };
    },

    async getOrganization({ organizationId }, context) {
      const scope = await callers.scope(context);
      return { organization: toOrganization(await scope.organization(organizationId, "see")) };
    },

    async listLocations({ organizationId }, context) {
      const scope = await callers.scope(context);
      const organization = await scope.organization(organizationId, "see");
      const rows = await scope.locations().selectAll("locations")
        .where("locations.org_id", "=", organization.id)
        .orderBy("locations.name").orderBy("locations.id").execute();
      const counts = await machineCounts(scope);
      return {
        locations: await Promise.all(
          rows.map((row) => toLocation(scope, secrets, organization, row, counts.get(row.id) ?? 0)),
        ),
      };
    },

    async getLocation({ locationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "see");
      const organization = await scope.organization(row.org_id, "see");
      const counts = await machineCounts(scope);
      return {
        location: await toLocation(scope, secrets, organization, row, counts.get(row.id) ?? 0),
      };
    },
  };
}

export function toOrganization(row: OrganizationRow): Organization {
  return create(OrganizationSchema, {
    id: row.id,
    name: row.name,
    publicNamespace: row.namespace ?? "",
    createdOn: timestampFromMs(row.created_at),
    defaultFragments: {
      fragments: (JSON.parse(row.default_fragments) as JsonObject[]).map(toImport),
    },
  });
}

/** Machines by location, as many as the caller sees. */
async function machineCounts(scope: Scope): Promise<Map<string, number>> {
  const rows = await scope.machines().select("machines.location_id")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .groupBy("machines.location_id").execute();
  return new Map(rows.map((row) => [row.location_id, Number(row.count)]));
}

/** A location as a caller may see it; who manages it sees its secrets. */
export async function toLocation(
  scope: Scope,
  secrets: SharedSecrets,
  organization: OrganizationRow,
  row: LocationRow,
  robotCount: number,
): Promise<Location> {
  const location = create(LocationSchema, {
    id: row.id,
    name: row.name,
    createdOn: timestampFromMs(row.created_at),
    robotCount,
    organizations: [
      create(LocationOrganizationSchema, { organizationId: organization.id, primary: true }),
    ],
    primaryOrgIdentity: create(OrganizationIdentitySchema, {
      id: organization.id,
      name: organization.name,
    }),
  });
  if (scope.allows("manage", { orgId: row.org_id, locationId: row.id })) {
    location.auth = await toLocationAuth(secrets, row.id);
  }
  return location;
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
