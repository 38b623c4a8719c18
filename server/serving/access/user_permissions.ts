/** `auth.user_permissions`: what single callers may do, of what their role allows. Pure. */
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";

/** What the callers that it names may call; others are as free as their role. */
export interface UserPermission {
  /** Credential type, such as `api-key`; empty: any. */
  readonly type: string;
  /** Id of the key or other entity; empty: everybody. */
  readonly id: string;
  readonly permissions: readonly AllowedCalls[];
}

interface AllowedCalls {
  /** Short or full names; none, or `*`: all, and the machine as a whole. */
  readonly resources: readonly string[];
  /** `GetReadings`, or with its service, `viam…SensorService/GetReadings`; none, or `*`: all. */
  readonly methods: readonly string[];
}

/** One call, as far as permissions are about it. */
export interface AskedCall {
  /** `/package.Service/Method` */
  readonly path: string;
  /** Short name of the resource, or its full one; undefined for calls to the machine as a whole. */
  readonly resource: string | undefined;
  /** `rdk:component:sensor/NAME`; undefined for calls to the machine as a whole. */
  readonly fullName: string | undefined;
}

/** The permissions of a configuration. */
export function userPermissions(auth: MachineConfig["auth"]): UserPermission[] {
  return (auth?.user_permissions ?? []).map(({ user, permissions }) => ({
    type: user?.type ?? "",
    id: user?.id ?? "",
    permissions: (permissions ?? []).map(({ resources, allowed_methods }) => ({
      resources: resources ?? [],
      methods: allowed_methods ?? [],
    })),
  }));
}

/** The entries about a caller; none: the caller is not restricted. */
export function permissionsOf(
  all: readonly UserPermission[],
  { credentialType, entity }: Identity,
): UserPermission[] {
  return all.filter(({ type, id }) =>
    (type === "" || type === credentialType) && (id === "" || id === entity)
  );
}

/** Whether one of the entries about a caller allows a call. */
export function permits(entries: readonly UserPermission[], call: AskedCall): boolean {
  const method = call.path.slice(call.path.lastIndexOf("/") + 1);
  const methodNames = ["*", method, call.path, call.path.slice(1)];
  const resourceNames = ["*", call.resource, call.fullName];
  return entries.some(({ permissions }) =>
    permissions.some(({ resources, methods }) =>
      (methods.length === 0 || methods.some((name) => methodNames.includes(name))) &&
      (resources.length === 0 || resources.some((name) => resourceNames.includes(name)))
    )
  );
}
