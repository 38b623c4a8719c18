/**
 * From the configuration, the machine's own credentials and what the cloud reports to the access
 * rules.
 */
import { Secret } from "../../../shared/base/redaction/secret.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { MachineCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import type { AccessRules, NamedSecret } from "./access_rules.ts";
import { type CloudAccess, isEmpty, NO_CLOUD_ACCESS } from "./cloud_access.ts";
import { userPermissions } from "./user_permissions.ts";

export interface AccessSources {
  config: Pick<MachineConfig, "auth" | "cloud" | "network">;
  /** How the machine proves itself to its cloud; undefined without a cloud. */
  credentials: MachineCredentials | undefined;
  /** What the cloud reports of who may open this machine. */
  cloudAccess: CloudAccess;
}

/** With a cloud or with auth handlers callers must sign in; without either anybody may call. */
export function accessRules({ config, credentials, cloudAccess }: AccessSources): AccessRules {
  const plainKeys = configuredKeys(config.auth);
  const { cloud, network } = config;
  const names = [cloud?.fqdn, cloud?.local_fqdn, network?.fqdn].filter((name) =>
    !!name
  ) as string[];
  const told = credentials ? cloudAccess : NO_CLOUD_ACCESS;
  const partNames = credentials ? [credentials.partId, ...names] : [];
  const own = credentials?.credentials.type === "robot-secret"
    ? [credentials.credentials.payload]
    : [];
  const partSecrets = [...own, ...inClear(credentials && cloud?.secret)];
  const locationSecrets = (cloud?.location_secrets ?? []).flatMap(({ secret }) => inClear(secret));
  const named = (entities: readonly string[], secrets: readonly NamedSecret["secret"][]) =>
    secrets.map((secret) => ({ entities, secret }));
  const hashes = (list: readonly string[]) => list.map((hash) => ({ hash }));
  return {
    required: credentials !== undefined || (config.auth?.handlers ?? []).length > 0,
    plainKeys,
    hashedKeys: told.keys,
    partSecrets: named(partNames, [...partSecrets, ...hashes(told.partSecrets)]),
    locationSecrets: named(names, [
      ...locationSecrets,
      ...inClear(cloud?.location_secret),
      ...hashes(told.locationSecrets),
    ]),
    // A cloud that knows no roles lets in only those who may do everything.
    vouchedRole: isEmpty(told) ? "owner" : "operator",
    permissions: userPermissions(config.auth),
  };
}

function inClear(secret: string | undefined): Secret[] {
  return secret ? [new Secret(secret)] : [];
}

/** The entries of `auth.handlers[].config`: id → key, next to `keys`, the list of ids. */
function configuredKeys(auth: MachineConfig["auth"]): Map<string, Secret> {
  const keys = new Map<string, Secret>();
  for (const handler of auth?.handlers ?? []) {
    if (handler.type !== "api-key") continue;
    for (const [id, key] of Object.entries(handler.config ?? {})) {
      if (id !== "keys" && typeof key === "string" && key !== "") keys.set(id, new Secret(key));
    }
  }
  return keys;
}
