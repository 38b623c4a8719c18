/** From the configuration, the machine's own credentials and the cloud's keys to the access rules. */
import { Secret } from "../../shared/auth/secret.ts";
import type { MachineConfig } from "../../shared/config/machine_config.ts";
import type { MachineCredentials } from "../../shared/credentials/credentials_file.ts";
import type { AccessRules, NamedSecret } from "./access_rules.ts";

export interface AccessSources {
  config: Pick<MachineConfig, "auth" | "cloud" | "network">;
  /** How the machine proves itself to its cloud; undefined without a cloud. */
  credentials: MachineCredentials | undefined;
  /** The cloud's API keys for this machine: id → salted hash. */
  hashedKeys: ReadonlyMap<string, string>;
}

/** With a cloud or with auth handlers callers must sign in; without either anybody may call. */
export function accessRules({ config, credentials, hashedKeys }: AccessSources): AccessRules {
  const plainKeys = configuredKeys(config.auth);
  const { cloud, network } = config;
  const names = [cloud?.fqdn, cloud?.local_fqdn, network?.fqdn].filter((name) =>
    !!name
  ) as string[];
  const partSecrets: NamedSecret[] = [];
  if (credentials?.credentials.type === "robot-secret") {
    const { payload } = credentials.credentials;
    partSecrets.push({ entities: [credentials.partId, ...names], secret: payload });
  }
  if (credentials && cloud?.secret) {
    partSecrets.push({
      entities: [credentials.partId, ...names],
      secret: new Secret(cloud.secret),
    });
  }
  const locations = (cloud?.location_secrets ?? []).map(({ secret }) => secret);
  const locationSecrets = [...locations, cloud?.location_secret]
    .filter((secret): secret is string => !!secret)
    .map((secret) => ({ entities: names, secret: new Secret(secret) }));
  return {
    required: credentials !== undefined || (config.auth?.handlers ?? []).length > 0,
    plainKeys,
    hashedKeys: credentials ? hashedKeys : new Map(),
    partSecrets,
    locationSecrets,
  };
}

/** The entries of `auth.handlers[].config`: id → key, beside `keys`, the list of ids. */
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
