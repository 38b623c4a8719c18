/** Whether a caller who signed in may make a call. */
import { Code, ConnectError, type ContextKey, createContextKey } from "@connectrpc/connect";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import type { Call } from "../../../shared/rpc/server/interceptor.ts";
import { isMachineWide, machineRight } from "../../../shared/rights/machine_methods.ts";
import { type Role, roleAllows } from "../../../shared/rights/roles.ts";
import { permissionsOf, permits, type UserPermission } from "./user_permissions.ts";

/** Refuses a call to a resource that the caller may not make, by the resource's names. */
export type ResourceCheck = (resource: string, fullName: string) => void;

/** Of a call to a resource whose caller is restricted to some; undefined: the role is all. */
export const resourceCheckKey: ContextKey<ResourceCheck | undefined> = createContextKey<
  ResourceCheck | undefined
>(undefined, { description: "check of the resource that a call is for" });

type CheckedCall = Pick<Call, "path" | "service" | "method" | "values">;

/**
 * Lets a call through, or leaves the rest of the decision to who reads the resource's name.
 *
 * @throws {ConnectError} PERMISSION_DENIED
 */
export function mustBeAllowed(
  call: CheckedCall,
  identity: Identity,
  role: Role,
  permissions: readonly UserPermission[],
): void {
  const { path, service, method } = call;
  const right = machineRight(service.typeName, method.name);
  if (right === "open") return;
  if (!roleAllows(role, right)) {
    throw new ConnectError(
      `${path.slice(1)} is for owners of this machine; these ${identity.credentialType} ` +
        `credentials are those of an ${role}`,
      Code.PermissionDenied,
    );
  }
  if (permissions.length === 0 || right === "see") return;
  const entries = permissionsOf(permissions, identity);
  if (entries.length === 0) return;
  if (isMachineWide(service.typeName)) {
    if (permits(entries, { path, resource: undefined, fullName: undefined })) return;
    throw notPermitted(path);
  }
  call.values.set(resourceCheckKey, (resource, fullName) => {
    if (!permits(entries, { path, resource, fullName })) throw notPermitted(path, fullName);
  });
}

function notPermitted(path: string, resource?: string): ConnectError {
  const where = resource === undefined ? "" : ` of ${resource}`;
  return new ConnectError(
    `auth.user_permissions of this machine do not allow these credentials ${path.slice(1)}${where}`,
    Code.PermissionDenied,
  );
}
