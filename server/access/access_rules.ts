/** Which credentials open this server. Pure, but for the comparing of secrets. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { CredentialType, Identity } from "../../shared/auth/identity.ts";
import { verifyKey } from "../../shared/auth/key_hash.ts";
import type { Secret } from "../../shared/auth/secret.ts";

/** A secret and the names that may sign in with it. */
export interface NamedSecret {
  readonly entities: readonly string[];
  readonly secret: Secret;
}

/** What a caller may prove itself with. */
export interface AccessRules {
  /** False: anybody may call. */
  readonly required: boolean;
  /** API keys in clear, as a local configuration holds them: id → key. */
  readonly plainKeys: ReadonlyMap<string, Secret>;
  /** API keys as the cloud gives them: id → salted hash. */
  readonly hashedKeys: ReadonlyMap<string, string>;
  /** `robot-secret` */
  readonly partSecrets: readonly NamedSecret[];
  /** `robot-location-secret` */
  readonly locationSecrets: readonly NamedSecret[];
}

export const OPEN_TO_ALL: AccessRules = {
  required: false,
  plainKeys: new Map(),
  hashedKeys: new Map(),
  partSecrets: [],
  locationSecrets: [],
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

/** Whether the credential behind a token is still accepted. */
export function stillStands(rules: AccessRules, identity: Identity): boolean {
  const mark = identity.claims[MARK];
  switch (identity.credentialType) {
    case "api-key": {
      const hash = rules.hashedKeys.get(identity.entity);
      if (hash !== undefined && markOf(hash) === mark) return true;
      const key = rules.plainKeys.get(identity.entity);
      return key !== undefined && markOf(key.reveal()) === mark;
    }
    case "robot-secret":
      return hasMark(rules.partSecrets, identity.entity, mark);
    case "robot-location-secret":
      return hasMark(rules.locationSecrets, identity.entity, mark);
  }
}

/** The caller with this key of the cloud's; undefined when it is none that opens this server. */
export function keyIdentity(rules: AccessRules, id: string): Identity | undefined {
  const hash = rules.hashedKeys.get(id);
  if (hash === undefined) return undefined;
  return { entity: id, credentialType: "api-key", claims: { [MARK]: markOf(hash) } };
}

/** Whether all of the cloud's keys that opened this server before still do. */
export function keepsHashedKeys(before: AccessRules, now: AccessRules): boolean {
  return [...before.hashedKeys].every(([id, hash]) => now.hashedKeys.get(id) === hash);
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
    const hash = rules.hashedKeys.get(entity);
    return hash !== undefined && await verifyKey(payload, hash) ? markOf(hash) : undefined;
  }
  const secrets = type === "robot-secret" ? rules.partSecrets : rules.locationSecrets;
  for (const { entities, secret } of secrets) {
    if (sameSecret(secret, payload) && entities.includes(entity)) return markOf(secret.reveal());
  }
}

function hasMark(secrets: readonly NamedSecret[], entity: string, mark: string | undefined) {
  return secrets.some(({ entities, secret }) =>
    markOf(secret.reveal()) === mark && entities.includes(entity)
  );
}

/** A short digest that tells one credential from another and gives neither away. */
function markOf(credential: string): string {
  return createHash("sha256").update(`machine-server token\0${credential}`).digest("base64url")
    .slice(0, 22);
}

/** Compares in constant time. */
function sameSecret(secret: Secret, payload: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(secret.reveal()), digest(payload));
}
