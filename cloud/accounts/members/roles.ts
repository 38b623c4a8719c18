import { Code } from "@connectrpc/connect";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { UserGrant } from "../people/users.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Who has a role: a person, or an API key. */
export interface Holder {
  readonly kind: "user" | "api-key";
  readonly id: string;
}

/** A role that somebody has on a thing in an organisation. */
export interface HeldGrant extends UserGrant {
  readonly holder: Holder;
}

/** All roles in an organisation, of people and of keys. */
export async function grantsInOrganization(queries: Queries, orgId: string): Promise<HeldGrant[]> {
  const people = await queries.selectFrom("user_grants").selectAll().where("org_id", "=", orgId)
    .orderBy("created_at").orderBy("user_id").execute();
  const keys = await queries.selectFrom("api_key_grants")
    .innerJoin("api_keys", "api_keys.id", "api_key_grants.key_id").selectAll("api_key_grants")
    .where("api_keys.org_id", "=", orgId).where("api_keys.deleted_at", "is", null)
    .orderBy("api_keys.created_at").orderBy("api_keys.id").execute();
  return [
    ...people.map((row) => held("user", row.user_id, row)),
    ...keys.map((row) => held("api-key", row.key_id, row)),
  ];
}

function held(
  kind: Holder["kind"],
  id: string,
  row: Pick<UserGrant, "role"> & {
    readonly resource_type: UserGrant["resource"];
    readonly resource_id: string;
  },
): HeldGrant {
  const { role, resource_type: resource, resource_id } = row;
  return { holder: { kind, id }, role, resource, id: resource_id };
}

/** Gives a holder a role. Call it in a transaction. @throws {ConnectError} ALREADY_EXISTS */
export async function addGrant(
  queries: Queries,
  orgId: string,
  { holder, ...grant }: HeldGrant,
  now: Date,
): Promise<void> {
  const present = (await grantsInOrganization(queries, orgId)).find((each) =>
    sameHolder(each.holder, holder) && each.resource === grant.resource && each.id === grant.id
  );
  if (present) {
    throw refusal(
      "ROLE_PRESENT",
      { role: present.role },
      `${holder.kind} ${holder.id} has the role ${present.role} on this ${grant.resource}; take ` +
        "another one with ChangeRole",
      Code.AlreadyExists,
    );
  }
  if (holder.kind === "user") {
    await queries.insertInto("user_grants").values({
      ...{ user_id: holder.id, org_id: orgId, role: grant.role, created_at: now.getTime() },
      ...{ resource_type: grant.resource, resource_id: grant.id },
    }).execute();
  } else {
    await queries.insertInto("api_key_grants").values({
      ...{ key_id: holder.id, role: grant.role },
      ...{ resource_type: grant.resource, resource_id: grant.id },
    }).execute();
  }
  await recordAccessChange(queries, orgId, [grant], now);
}

/**
 * Takes a role away. A person without any is no member any more, a key without any ends. Call it in
 * a transaction.
 *
 * @throws {ConnectError} NOT_FOUND
 */
export async function removeGrant(
  queries: Queries,
  orgId: string,
  { holder, ...grant }: HeldGrant,
  now: Date,
): Promise<void> {
  const { numDeletedRows } = holder.kind === "user"
    ? await queries.deleteFrom("user_grants").where("user_id", "=", holder.id)
      .where("org_id", "=", orgId).where("role", "=", grant.role)
      .where("resource_type", "=", grant.resource).where("resource_id", "=", grant.id)
      .executeTakeFirst()
    : await queries.deleteFrom("api_key_grants").where("key_id", "=", holder.id)
      .where("role", "=", grant.role).where("resource_type", "=", grant.resource)
      .where("resource_id", "=", grant.id).executeTakeFirst();
  if (numDeletedRows === 0n) {
    throw refusal(
      "CHANGED_MEANWHILE",
      {},
      `${holder.kind} ${holder.id} has no role ${grant.role} on this ${grant.resource}`,
      Code.NotFound,
    );
  }
  await recordAccessChange(queries, orgId, [grant], now);
}

/** Ends a key that opens nothing any more. Call it in a transaction. */
export async function endWithoutGrants(queries: Queries, holder: Holder, now: Date): Promise<void> {
  if (holder.kind !== "api-key") return;
  const left = await queries.selectFrom("api_key_grants").select("key_id")
    .where("key_id", "=", holder.id).executeTakeFirst();
  if (left) return;
  await queries.updateTable("api_keys").set({ deleted_at: now.getTime() })
    .where("id", "=", holder.id).where("deleted_at", "is", null).execute();
}

/** Throws FAILED_PRECONDITION when nobody could manage an organisation any more. */
export async function requireAnOwner(queries: Queries, orgId: string): Promise<void> {
  const all = await grantsInOrganization(queries, orgId);
  if (all.some(({ role, resource }) => role === "owner" && resource === "organization")) return;
  throw refusal(
    "LAST_OWNER",
    {},
    "this would leave the organisation without an owner; make somebody else owner first",
    Code.FailedPrecondition,
  );
}

function sameHolder(a: Holder, b: Holder): boolean {
  return a.kind === b.kind && a.id === b.id;
}
