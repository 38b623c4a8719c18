import { Code, ConnectError } from "@connectrpc/connect";
import type { Authorization } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import type { ResourceType } from "../../storage/database/schema.ts";
import type { KeyGrant } from "./api_keys.ts";
import type { Place } from "./caller.ts";
import { machinePlace, type Scope } from "./scope.ts";

export const RESOURCE_TYPES: readonly ResourceType[] = ["organization", "location", "robot"];
const ROLES: readonly Role[] = ["owner", "operator"];

/** Where a thing stands. Throws NOT_FOUND when the caller does not see it. */
export async function placeOf(
  scope: Scope,
  { resource, id }: { resource: ResourceType; id: string },
): Promise<Place> {
  switch (resource) {
    case "organization":
      return { orgId: (await scope.organization(id, "see")).id };
    case "location": {
      const location = await scope.location(id, "see");
      return { orgId: location.org_id, locationId: location.id };
    }
    case "robot":
      return machinePlace(await scope.machine(id, "see"));
  }
}

/** An authorization names its role as `owner` or in full as `robot_owner`. */
export async function toGrant(
  scope: Scope,
  authorization: Authorization,
): Promise<{ grant: KeyGrant; place: Place }> {
  const { resourceType, resourceId, authorizationId } = authorization;
  const resource = RESOURCE_TYPES.find((type) => type === resourceType);
  if (!resource) {
    throw new ConnectError(
      `authorizations.resource_type: ${JSON.stringify(resourceType)} is unknown; allowed: ` +
        RESOURCE_TYPES.join(", "),
      Code.InvalidArgument,
    );
  }
  const role = ROLES.find((role) =>
    authorizationId === role || authorizationId === `${resource}_${role}`
  );
  if (!role) {
    throw new ConnectError(
      `authorizations.authorization_id: ${JSON.stringify(authorizationId)} is unknown; allowed: ` +
        ROLES.map((role) => `${resource}_${role}`).join(", "),
      Code.InvalidArgument,
    );
  }
  const place = await placeOf(scope, { resource, id: resourceId });
  return { grant: { role, resource, id: resourceId }, place };
}
