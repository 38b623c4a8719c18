import type { CredentialType, Identity } from "../../shared/auth/identity.ts";
import { hashKey, verifyKey } from "../../shared/auth/key_hash.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { Random } from "../keys/random.ts";
import { SECRET_CLAIM } from "./callers.ts";
import { matchingSecret, type SharedSecrets } from "./secrets.ts";

/** Checks credentials of one type: the identity they prove, or undefined when they are wrong. */
export type Verifier = (entity: string, payload: string) => Promise<Identity | undefined>;

/** Longer than any entity or payload that can be right. */
const LONGEST = 256;

/** What the cloud accepts at AuthService, by credential type. */
export class CredentialVerifiers {
  readonly #unmatchedHash: Promise<string>;

  constructor(
    private readonly queries: Queries,
    private readonly secrets: SharedSecrets,
    private readonly domain: string,
    random: Random,
  ) {
    this.#unmatchedHash = hashKey(random.uuid());
  }

  get byType(): Record<CredentialType, Verifier> {
    return {
      "api-key": bounded((id, key) => this.apiKey(id, key)),
      "robot-secret": bounded((partId, secret) => this.partSecret(partId, secret)),
      "robot-location-secret": bounded((host, secret) => this.locationSecret(host, secret)),
    };
  }

  /** An unknown id takes as long as a wrong key, so that ids cannot be found by the clock. */
  async apiKey(id: string, key: string): Promise<Identity | undefined> {
    const row = await this.queries.selectFrom("api_keys").select(["org_id", "hash"])
      .where("id", "=", id).where("deleted_at", "is", null).executeTakeFirst();
    const right = await verifyKey(key, row?.hash ?? await this.#unmatchedHash);
    if (!row || !right) return undefined;
    return { credentialType: "api-key", entity: id, claims: { org: row.org_id } };
  }

  async partSecret(partId: string, payload: string): Promise<Identity | undefined> {
    const secret = matchingSecret(await this.secrets.ofPart(partId), payload);
    if (!secret) return undefined;
    return {
      credentialType: "robot-secret",
      entity: partId,
      claims: { [SECRET_CLAIM]: secret.id },
    };
  }

  /** `host` is the name of any machine of the location, `m-main.<location>.machine.internal`. */
  async locationSecret(host: string, payload: string): Promise<Identity | undefined> {
    const locationId = locationOfHost(host, this.domain);
    const secret = matchingSecret(await this.secrets.ofLocation(locationId), payload);
    if (!secret) return undefined;
    const claims = { [SECRET_CLAIM]: secret.id };
    return { credentialType: "robot-location-secret", entity: host, claims };
  }
}

function bounded(verify: Verifier): Verifier {
  return (entity, payload) =>
    entity.length > LONGEST || payload.length > LONGEST
      ? Promise.resolve(undefined)
      : verify(entity, payload);
}

function locationOfHost(host: string, domain: string): string {
  const suffix = `.${domain}`;
  const labels = (host.endsWith(suffix) ? host.slice(0, -suffix.length) : host).split(".");
  return labels[1] ?? "";
}
