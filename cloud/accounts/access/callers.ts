import { Code, type ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type Identity, identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { callFailure } from "../../storage/database/call_failures.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Caller, Grant, Person, TrainingRights } from "./caller.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import { sessionCaller } from "./session_caller.ts";
import { withLocations } from "./location_tree.ts";
import { ISSUED_CLAIM, SECRET_CLAIM } from "./claims.ts";
import { Scope } from "./scope.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

const KEPT_CALLERS = 20_000;

/** When the token of a call was issued, milliseconds since 1970; 0 when it does not report it. */
export function tokenIssuedMs(context: HandlerContext): number {
  return Number(context.values.get(identityKey)?.claims[ISSUED_CLAIM] ?? 0);
}

/**
 * Turns the identity in a token into what its holder may do now. A token never expires, so this is
 * where a deleted key or a rotated secret stops it: what is remembered is dropped whenever access
 * changed, also by another process, within about half a second.
 */
export class Callers {
  readonly #kept = new Map<string, Promise<Caller | undefined>>();
  readonly #stopListening: () => void;
  readonly #watches = new Set<() => Promise<void>>();
  #looking = Promise.resolve();
  #onPerson: (person: Person) => void = () => {};

  /** @param clock shows when the time of a session is over */
  constructor(
    private readonly queries: Queries,
    changes: ChangeFeed,
    private readonly clock: Clock,
  ) {
    this.#stopListening = changes.listen((change) => {
      if (change.kind !== "access") return;
      this.#kept.clear();
      if (this.#watches.size > 0) this.#looking = this.#looking.then(() => this.#lookAgain());
    });
  }

  /** Has somebody learn of each call of a person. It must not take time. */
  onPerson(hear: (person: Person) => void): void {
    this.#onPerson = hear;
  }

  close(): void {
    this.#stopListening();
    this.#watches.clear();
  }

  /**
   * Has a stream look again whether its caller may still have it, as soon as anybody's access
   * changed: one stream after the other, as there may be thousands.
   *
   * @param refused gets what `check` throws.
   * @returns ends it.
   */
  watch(check: () => Promise<void>, refused: (error: ConnectError) => void): () => void {
    const look = async () => {
      try {
        await check();
      } catch (error) {
        refused(callFailure(error));
      }
    };
    this.#watches.add(look);
    return () => this.#watches.delete(look);
  }

  async #lookAgain(): Promise<void> {
    for (const look of [...this.#watches]) if (this.#watches.has(look)) await look();
  }

  /** Throws UNAUTHENTICATED when the credentials behind the identity are gone. */
  async of(identity: Identity): Promise<Caller> {
    const caller = await this.#remembered(identity);
    if (caller && !this.#isOver(caller)) {
      if (caller.person) this.#onPerson(caller.person);
      return caller;
    }
    if (identity.credentialType === "session") {
      throw refusal(
        "SESSION_OVER",
        {},
        "this session is no longer valid; sign in again",
        Code.Unauthenticated,
      );
    }
    throw refusal(
      "SESSION_OVER",
      {},
      `the ${identity.credentialType} credentials of this token are not valid any more`,
      Code.Unauthenticated,
    );
  }

  /** The rows a call may see. */
  async scope(context: Pick<HandlerContext, "values">): Promise<Scope> {
    const identity = context.values.get(identityKey);
    if (!identity) {
      throw refusal("SESSION_OVER", {}, "authentication required", Code.Unauthenticated);
    }
    const caller = await this.of(identity);
    const record = currentRecord();
    if (record) {
      record.actorType = caller.actor.type;
      record.actor = caller.actor.id;
      record.orgId ||= caller.orgId;
    }
    return new Scope(this.queries, caller);
  }

  #isOver({ person }: Caller): boolean {
    return person !== undefined && person.expiresAtMs <= this.clock.now().getTime();
  }

  #remembered(identity: Identity): Promise<Caller | undefined> {
    const secret = identity.claims[SECRET_CLAIM] ?? "";
    const key = `${identity.credentialType} ${identity.entity} ${secret}`;
    const kept = this.#kept.get(key);
    if (kept) return kept;
    if (this.#kept.size >= KEPT_CALLERS) this.#kept.clear();
    const loaded = this.#load(identity, secret);
    this.#kept.set(key, loaded);
    loaded.catch(() => this.#kept.delete(key));
    return loaded;
  }

  #load(identity: Identity, secretId: string): Promise<Caller | undefined> {
    switch (identity.credentialType) {
      case "api-key":
        return this.#apiKey(identity.entity);
      case "robot-secret":
        return this.#part(identity.entity, secretId);
      case "robot-location-secret":
        return this.#location(secretId);
      case "session":
        return sessionCaller(this.queries, identity.entity, secretId);
      default:
        return Promise.resolve(undefined);
    }
  }

  async #apiKey(id: string): Promise<Caller | undefined> {
    const key = await this.queries.selectFrom("api_keys").select("org_id")
      .where("id", "=", id).where("deleted_at", "is", null).executeTakeFirst();
    if (!key) return undefined;
    const grants = await this.queries.selectFrom("api_key_grants").selectAll()
      .where("key_id", "=", id).execute();
    const training = grants.length === 0 ? await this.#trainingRights(id) : undefined;
    if (grants.length === 0 && !training) return undefined;
    return {
      ...{ actor: { type: "api-key", id }, training },
      orgId: key.org_id,
      grants: await withLocations(
        this.queries,
        key.org_id,
        grants.map((grant): Grant => ({
          role: grant.role,
          resource: grant.resource_type,
          id: grant.resource_id,
        })),
      ),
    };
  }

  /** A job's row names its key exactly as long as the job runs. */
  async #trainingRights(keyId: string): Promise<TrainingRights | undefined> {
    const job = await this.queries.selectFrom("training_jobs")
      .select(["id", "dataset_id", "model_name"]).where("key_id", "=", keyId).executeTakeFirst();
    return job && { jobId: job.id, datasetId: job.dataset_id, modelName: job.model_name };
  }

  async #part(partId: string, secretId: string): Promise<Caller | undefined> {
    const part = await this.queries.selectFrom("parts")
      .innerJoin("part_secrets", "part_secrets.part_id", "parts.id")
      .select("parts.org_id")
      .where("parts.id", "=", partId).where("part_secrets.id", "=", secretId)
      .where("part_secrets.state", "=", "enabled").executeTakeFirst();
    return part && {
      actor: { type: "robot-secret", id: partId },
      orgId: part.org_id,
      grants: [{ role: "self", resource: "part", id: partId }],
    };
  }

  async #location(secretId: string): Promise<Caller | undefined> {
    const location = await this.queries.selectFrom("locations")
      .innerJoin("location_secrets", "location_secrets.location_id", "locations.id")
      .select(["locations.id", "locations.org_id"])
      .where("location_secrets.id", "=", secretId)
      .where("location_secrets.state", "=", "enabled").executeTakeFirst();
    return location && {
      actor: { type: "robot-location-secret", id: location.id },
      orgId: location.org_id,
      grants: [{ role: "operator", resource: "location", id: location.id }],
    };
  }
}
