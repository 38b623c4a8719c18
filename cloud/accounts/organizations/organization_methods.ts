import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type Organization,
  OrganizationSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Callers } from "../access/callers.ts";
import type { OrganizationRow } from "../access/scope.ts";
import { toImport } from "./default_fragments.ts";
import { type LocationMessagesOptions, toLocations } from "./location_messages.ts";

export interface OrganizationMethodsOptions extends LocationMessagesOptions {
  readonly callers: Pick<Callers, "scope">;
}

/** The calls of AppService about organisations and locations. */
export function organizationMethods(
  options: OrganizationMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers } = options;
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
        .where(scope.inOrganization("locations", organization.id))
        .orderBy("locations.name").orderBy("locations.id").execute();
      return { locations: await toLocations(options, scope, rows) };
    },

    async getLocation({ locationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "see");
      const [location] = await toLocations(options, scope, [row]);
      return location ? { location } : {};
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
