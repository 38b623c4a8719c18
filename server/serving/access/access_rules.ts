/** Which credentials open this server, and as whom. Pure, but for the comparing of secrets. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { CredentialType, Identity } from "../../../shared/cloud/auth/identity.ts";
import { verifyKey } from "../../../shared/cloud/auth/key_hash.ts";
import type { Secret } from "../../../shared/base/redaction/secret.ts";
import { verifySecret } from "../../../shared/cloud/auth/secret_hash.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import type { UserPermission } from "./user_permissions.ts";

/** A secret, in clear or as its hash, and the names that may sign in with it. */
export interface NamedSecret {
  readonly entities: readonly string[];
  readonly secret: Secret | { readonly hash: string };
}

/** An API key as the cloud reports it. */
export interface HashedKey {
  /** PHC string. */
  readonly hash: string;
  /** What its holder is on this machine. */
  readonly role: Role;
}

/** What a caller may prove itself with. */
export interface AccessRules {
  /** False: anybody may call. */
  readonly required: boolean;
  /** API keys in clear, as a configuration holds them: id → key. */
  readonly plainKeys: ReadonlyMap<string, Secret>;
  /** API keys as the cloud gives them, by id. Their roles count for keys in clear, too. */
  readonly hashedKeys: ReadonlyMap<string, HashedKey>;
  /** `robot-secret` */
  readonly partSecrets: readonly NamedSecret[];
  /** `robot-location-secret` */
  readonly locationSecrets: readonly NamedSecret[];
  /** What a caller is whom the cloud let in without saying as what. */
  readonly vouchedRole: Role;
  /** `auth.user_permissions` */
  readonly permissions: readonly UserPermission[];
}

export const OPEN_TO_ALL: AccessRules = {
  required: false,
  plainKeys: new Map(),
  hashedKeys: new Map(),
  partSecrets: [],
  locationSecrets: [],
  vouchedRole: "operator",
  permissions: [],
};

/** Claim that ties a token to the credential it was issued for. */
const MARK = "credential";

/** Who has this credential; undefined when it does not fit. */
export async function verifyCredential(
  rules: AccessRules,
  type: CredentialType,
  entity: string,
  payload: string,
): Promise<Identity | undefined> {
  const mark = await findMark(rules, type, entity, payload);
  if (mark === undefined) return undefined;
  return { entity, credentialType: type, claims: { [MARK]: mark } };
}

/** What the holder of the credential behind a token is; undefined when it is not accepted. */
export function roleOf(rules: AccessRules, identity: Identity): Role | undefined {
  const mark = identity.claims[MARK];
  switch (identity.credentialType) {
    case "api-key": {
      const hashed = rules.hashedKeys.get(identity.entity);
      if (hashed !== undefined && markOf(hashed.hash) === mark) return hashed.role;
      const key = rules.plainKeys.get(identity.entity);
      if (key === undefined || markOf(key.reveal()) !== mark) return undefined;
      return hashed?.role ?? "owner";
    }
    // It is the machine's own: whoever has it reads the configuration and answers in its name.
    case "robot-secret":
      return hasMark(rules.partSecrets, identity.entity, mark) ? "owner" : undefined;
    case "robot-location-secret":
      return hasMark(rules.locationSecrets, identity.entity, mark) ? "operator" : undefined;
  }
}

/** The caller with this key of the cloud's; undefined when it is none that opens this server. */
export function keyIdentity(rules: AccessRules, id: string): Identity | undefined {
  const key = rules.hashedKeys.get(id);
  if (key === undefined) return undefined;
  return { entity: id, credentialType: "api-key", claims: { [MARK]: markOf(key.hash) } };
}

/** Whether everything that opened this server before still does, with the same role. */
export function takesNothingBack(before: AccessRules, now: AccessRules): boolean {
  const kept = (secrets: readonly NamedSecret[], among: readonly NamedSecret[]) => {
    const marks = new Set(among.map(markOfSecret));
    return secrets.every((secret) => marks.has(markOfSecret(secret)));
  };
  return [...before.hashedKeys].every(([id, { hash, role }]) => {
    const key = now.hashedKeys.get(id);
    return key?.hash === hash && key.role === role;
  }) && kept(before.partSecrets, now.partSecrets) &&
    kept(before.locationSecrets, now.locationSecrets) && before.vouchedRole === now.vouchedRole;
}

async function findMark(
  rules: AccessRules,
  type: CredentialType,
  entity: string,
  payload: string,
): Promise<string | undefined> {
  if (type === "api-key") {
    const key = rules.plainKeys.get(entity);
    if (key && sameSecret(key, payload)) return markOf(key.reveal());
    const hash = rules.hashedKeys.get(entity)?.hash;
    return hash !== undefined && await verifyKey(payload, hash) ? markOf(hash) : undefined;
  }
  const secrets = type === "robot-secret" ? rules.partSecrets : rules.locationSecrets;
  for (const named of secrets) {
    const { entities, secret } = named;
    const right = "hash" in secret
      ? verifySecret(payload, secret.hash)
      : sameSecret(secret, payload);
    if (right && entities.includes(entity)) return markOfSecret(named);
  }
}

function hasMark(secrets: readonly NamedSecret[], entity: string, mark: string | undefined) {
  return secrets.some((named) => markOfSecret(named) === mark && named.entities.includes(entity));
}

function markOfSecret({ secret }: NamedSecret): string {
  return markOf("hash" in secret ? secret.hash : secret.reveal());
}

/** A short digest that distinguishes one credential from another and gives neither away. */
function markOf(credential: string): string {
  return createHash("sha256").update(`machine-server token\0${credential}`).digest("base64url")
    .slice(0, 22);
}

/** Compares in constant time. */
function sameSecret(secret: Secret, payload: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(secret.reveal()), digest(payload));
}
