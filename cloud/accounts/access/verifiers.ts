import type { CredentialType, Identity } from "../../../shared/cloud/auth/identity.ts";
import { hashKey, type KeyCost, verifyKey } from "../../../shared/cloud/auth/key_hash.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import { partName } from "../../api/addresses/host_names.ts";
import { ISSUED_CLAIM, SECRET_CLAIM } from "./claims.ts";
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
    private readonly clock: Clock,
    random: Random,
    keyCost?: KeyCost,
  ) {
    this.#unmatchedHash = hashKey(random.uuid(), keyCost);
  }

  get byType(): Record<CredentialType, Verifier> {
    return {
      "api-key": this.#dated((id, key) => this.apiKey(id, key)),
      "robot-secret": this.#dated((part, secret) => this.partSecret(part, secret)),
      "robot-location-secret": this.#dated((host, secret) => this.locationSecret(host, secret)),
    };
  }

  /** Looks at nothing that is too long, and notes the time in what the token will say. */
  #dated(verify: Verifier): Verifier {
    return async (entity, payload) => {
      if (entity.length > LONGEST || payload.length > LONGEST) return undefined;
      const identity = await verify(entity, payload);
      const issued = { [ISSUED_CLAIM]: String(this.clock.now().getTime()) };
      return identity && { ...identity, claims: { ...identity.claims, ...issued } };
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

  /** `part` is its id, or one of its host names, which is what SDKs know of a machine. */
  async partSecret(part: string, payload: string): Promise<Identity | undefined> {
    const partId = part.includes(".") ? await this.#partOfHost(part) : part;
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

  async #partOfHost(host: string): Promise<string> {
    const name = partName(host, this.domain);
    const row = name && await this.queries.selectFrom("parts").select("id")
      .where("location_id", "=", name.locationId)
      .where("dns_label", "=", name.dnsLabel).executeTakeFirst();
    return row?.id ?? "";
  }
}

function locationOfHost(host: string, domain: string): string {
  const known = partName(host, domain);
  if (known) return known.locationId;
  const labels = host.split(".");
  return labels[1] ?? "";
}
