import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Caller } from "./caller.ts";
import { withLocations } from "./location_tree.ts";

/** The caller that a session stands for; undefined when it counts no more. */
export async function sessionCaller(
  queries: Queries,
  userId: string,
  sessionId: string,
): Promise<Caller | undefined> {
  const row = await queries.selectFrom("sessions").innerJoin(
    "users",
    "users.id",
    "sessions.user_id",
  )
    .select(["users.email", "sessions.expires_at"])
    .where("sessions.id", "=", sessionId).where("users.id", "=", userId)
    .where("sessions.ended_at", "is", null).executeTakeFirst();
  if (!row) return undefined;
  const grants = await queries.selectFrom("user_grants").selectAll()
    .where("user_id", "=", userId).orderBy("created_at").orderBy("org_id").execute();
  return {
    actor: { type: "user", id: row.email },
    person: { userId, sessionId, expiresAtMs: row.expires_at },
    orgId: grants[0]?.org_id ?? "",
    grants: await withLocations(
      queries,
      "",
      grants.map((grant) => ({
        role: grant.role,
        resource: grant.resource_type,
        id: grant.resource_id,
        orgId: grant.org_id,
      })),
    ),
  };
}
