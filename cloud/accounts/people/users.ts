import type { Selectable } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { UsersTable } from "../../storage/database/people_schema.ts";
import type { ResourceType } from "../../storage/database/schema.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { Role } from "../../../shared/rights/roles.ts";

export type UserRow = Selectable<UsersTable>;

/** What a person may do, and where. */
export interface UserGrant {
  readonly role: Role;
  readonly resource: ResourceType;
  readonly id: string;
}

/** @param email in its normal form */
export async function userByEmail(queries: Queries, email: string): Promise<UserRow | undefined> {
  return await queries.selectFrom("users").selectAll().where("email", "=", email)
    .executeTakeFirst();
}

export async function userById(queries: Queries, id: string): Promise<UserRow | undefined> {
  return await queries.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The person with an address, made where there is none. Call it in a transaction. */
export async function findOrCreateUser(
  queries: Queries,
  { email, name = "" }: { readonly email: string; readonly name?: string },
  { random, now }: { readonly random: Random; readonly now: Date },
): Promise<UserRow> {
  const found = await userByEmail(queries, email);
  if (found) return found;
  const row = {
    id: random.uuid(),
    email,
    name,
    password_hash: null,
    created_at: now.getTime(),
    last_sign_in_at: null,
    last_seen_at: null,
    session_epoch: 0,
    totp_generation: 0,
    totp_enabled: 0,
    totp_last_step: 0,
    reset_mailed_at: null,
  };
  await queries.insertInto("users").values(row).execute();
  return row;
}

/**
 * Gives a person a role on a thing, in place of the one that there is. Call it in a transaction.
 */
export async function giveRole(
  queries: Queries,
  { userId, orgId, grant }: {
    readonly userId: string;
    readonly orgId: string;
    readonly grant: UserGrant;
  },
  now: Date,
): Promise<void> {
  await queries.insertInto("user_grants").values({
    user_id: userId,
    org_id: orgId,
    role: grant.role,
    resource_type: grant.resource,
    resource_id: grant.id,
    created_at: now.getTime(),
  }).onConflict((conflict) =>
    conflict.columns(["user_id", "resource_type", "resource_id"]).doUpdateSet({ role: grant.role })
  ).execute();
  await recordAccessChange(queries, orgId, [grant], now);
}

/** The people who may open something in an organisation at a place, with what they are there. */
export async function peopleOf(queries: Queries, orgId: string): Promise<
  { id: string; sessionEpoch: number; grants: UserGrant[] }[]
> {
  const rows = await queries.selectFrom("user_grants")
    .innerJoin("users", "users.id", "user_grants.user_id")
    .select(["users.id", "users.session_epoch", "role", "resource_type", "resource_id"])
    .where("org_id", "=", orgId).orderBy("users.id").execute();
  return [...Map.groupBy(rows, (row) => row.id)].map(([id, grants]) => ({
    id,
    sessionEpoch: grants[0]?.session_epoch ?? 0,
    grants: grants.map((row) => ({
      role: row.role,
      resource: row.resource_type,
      id: row.resource_id,
    })),
  }));
}
