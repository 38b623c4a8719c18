import { Code } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { hashKey, type KeyCost } from "../../../shared/cloud/auth/key_hash.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import type {
  ApiKeyGrantsTable,
  ApiKeysTable,
  ResourceType,
} from "../../storage/database/schema.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";
import { allows, type Caller, type Place } from "./caller.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What a grant is on. */
export interface KeyTarget {
  readonly resource: ResourceType;
  readonly id: string;
}

/** What an API key may do, and on what. */
export interface KeyGrant extends KeyTarget {
  readonly role: Role;
}

export interface ApiKey {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly grants: readonly KeyGrant[];
}

const KEY_LENGTH = 40;

/** API keys. The keys themselves are kept as salted hashes and are shown once. */
export class ApiKeys {
  constructor(
    private readonly queries: Queries,
    private readonly changes: ChangeFeed,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly keyCost?: KeyCost,
  ) {}

  /** Makes a key that may do what `grants` say. */
  async create(
    orgId: string,
    name: string,
    grants: readonly KeyGrant[],
  ): Promise<{ id: string; key: string }> {
    const key = alphanumeric(this.random, KEY_LENGTH);
    const id = this.random.uuid();
    const hash = await hashKey(key, this.keyCost);
    await this.queries.transaction().execute(async (transaction) => {
      await insertKey(transaction, { id, orgId, name, hash, grants }, this.clock.now());
    });
    await this.changes.drain();
    return { id, key };
  }

  async rename(key: ApiKey, name: string): Promise<void> {
    await this.queries.updateTable("api_keys").set({ name }).where("id", "=", key.id).execute();
  }

  /** A new key in place of one, which ends at once; name and grants stay. */
  async rotate(key: ApiKey): Promise<{ id: string; key: string }> {
    const value = alphanumeric(this.random, KEY_LENGTH);
    const id = this.random.uuid();
    const hash = await hashKey(value, this.keyCost);
    await this.queries.transaction().execute(async (transaction) => {
      const now = this.clock.now();
      const ended = await transaction.updateTable("api_keys").set({ deleted_at: now.getTime() })
        .where("id", "=", key.id).where("deleted_at", "is", null).executeTakeFirst();
      if (ended.numUpdatedRows === 0n) {
        throw refusal(
          "CHANGED_MEANWHILE",
          {},
          "somebody else revoked this key just now",
          Code.Aborted,
        );
      }
      const { orgId, name } = key;
      const grants = await grantsOf(transaction, key.id);
      await insertKey(transaction, { id, orgId, name, hash, grants }, now);
    });
    await this.changes.drain();
    return { id, key: value };
  }

  /** Ends a key at once, and every token that was given for it. */
  async delete(key: ApiKey): Promise<void> {
    await this.queries.transaction().execute(async (transaction) => {
      const now = this.clock.now();
      await transaction.updateTable("api_keys").set({ deleted_at: now.getTime() })
        .where("id", "=", key.id).where("deleted_at", "is", null).execute();
      // Not those that were read before: it may have become more meanwhile.
      const grants = await grantsOf(transaction, key.id);
      await recordAccessChange(transaction, key.orgId, grants, now);
    });
    await this.changes.drain();
  }

  /** The keys of an organisation, newest first. */
  async list(orgId: string): Promise<ApiKey[]> {
    const rows = await this.queries.selectFrom("api_keys").selectAll()
      .where("org_id", "=", orgId).where("deleted_at", "is", null)
      .orderBy("created_at", "desc").orderBy("id").execute();
    return await this.#withGrants(rows);
  }

  /**
   * The keys of an organisation that have a grant on one of some things, with their hashes and all
   * of their grants. An organisation may have a key for each of its machines: others are not read.
   */
  async withHashes(
    orgId: string,
    things: readonly KeyTarget[],
  ): Promise<(ApiKey & { hash: string })[]> {
    const ids = await idsOfKeysOn(this.queries, things).execute();
    if (ids.length === 0) return [];
    const found = await this.queries.selectFrom("api_keys").selectAll()
      .where("id", "in", ids.map((row) => row.key_id)).where("deleted_at", "is", null)
      .orderBy("id").execute();
    const rows = found.filter((row) => row.org_id === orgId);
    const hashes = new Map(rows.map((row) => [row.id, row.hash]));
    return (await this.#withGrants(rows))
      .map((key) => ({ ...key, hash: hashes.get(key.id) ?? "" }));
  }

  async #withGrants(rows: readonly Selectable<ApiKeysTable>[]): Promise<ApiKey[]> {
    if (rows.length === 0) return [];
    const grants = await this.queries.selectFrom("api_key_grants").selectAll()
      .where("key_id", "in", rows.map((row) => row.id)).execute();
    const byKey = Map.groupBy(grants, (grant) => grant.key_id);
    return rows.map((row) => ({
      id: row.id,
      orgId: row.org_id,
      name: row.name,
      createdAtMs: row.created_at,
      grants: (byKey.get(row.id) ?? []).map(toGrant),
    }));
  }
}

/**
 * Stores a key; one without grants is that of a training job. Call it in a transaction.
 */
export async function insertKey(
  queries: Queries,
  key: {
    id: string;
    orgId: string;
    name: string;
    hash: string;
    grants: readonly KeyGrant[];
    derivedAs?: string;
  },
  now: Date,
): Promise<void> {
  await queries.insertInto("api_keys").values({
    id: key.id,
    org_id: key.orgId,
    name: key.name,
    hash: key.hash,
    derived_as: key.derivedAs ?? null,
    created_at: now.getTime(),
    deleted_at: null,
  }).execute();
  if (key.grants.length > 0) {
    await queries.insertInto("api_key_grants").values(key.grants.map((grant) => ({
      key_id: key.id,
      role: grant.role,
      resource_type: grant.resource,
      resource_id: grant.id,
    }))).execute();
  }
  await recordAccessChange(queries, key.orgId, key.grants, now);
}

/** Finds, by the index of what grants are on, the keys that have one on any of some things. */
export function idsOfKeysOn(queries: Queries, things: readonly KeyTarget[]) {
  return queries.selectFrom("api_key_grants").select("key_id").distinct().where(({ eb, and, or }) =>
    or(
      things.map(({ resource, id }) =>
        and([eb("resource_type", "=", resource), eb("resource_id", "=", id)])
      ),
    )
  );
}

async function grantsOf(queries: Queries, keyId: string): Promise<KeyGrant[]> {
  const rows = await queries.selectFrom("api_key_grants").selectAll()
    .where("key_id", "=", keyId).execute();
  return rows.map(toGrant);
}

function toGrant(row: Selectable<ApiKeyGrantsTable>): KeyGrant {
  return { role: row.role, resource: row.resource_type, id: row.resource_id };
}

/** Throws PERMISSION_DENIED unless the caller has at least what the grants give. */
export function requireNoMoreThanOwn(caller: Caller, places: readonly Place[]): void {
  if (places.every((place) => allows(caller, "manage", place))) return;
  throw refusal(
    "KEY_TOO_STRONG",
    {},
    "a key can only be given by an owner of everything that it opens",
    Code.PermissionDenied,
  );
}
