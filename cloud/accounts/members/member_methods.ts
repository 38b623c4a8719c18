import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  OrganizationMemberSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { Callers } from "../access/callers.ts";
import { notFound } from "../access/scope.ts";
import type { Invitations } from "../invitations/invitations.ts";
import { normalEmail } from "../people/emails.ts";
import { userByEmail } from "../people/users.ts";
import { toInvite } from "./invitation_methods.ts";
import { requireAnOwner } from "./roles.ts";

export interface MemberMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly invitations: Invitations;
  readonly clock: Clock;
}

/** The calls of AppService about the people of an organisation. */
export function memberMethods(
  { callers, queries, changes, invitations, clock }: MemberMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async listOrganizationMembers({ organizationId }, context) {
      const scope = await callers.scope(context);
      await scope.organization(organizationId, "manage");
      const rows = await queries.selectFrom("user_grants")
        .innerJoin("users", "users.id", "user_grants.user_id")
        .select(["users.id", "users.email", "users.last_sign_in_at", "users.last_seen_at"])
        .select((eb) => eb.fn.min("user_grants.created_at").as("added_at"))
        .where("user_grants.org_id", "=", organizationId).groupBy("users.id")
        .orderBy("users.email").execute();
      return {
        organizationId,
        members: rows.map((row) => {
          const member = create(OrganizationMemberSchema, {
            userId: row.id,
            emails: [row.email],
            dateAdded: timestampFromMs(row.added_at),
          });
          if (row.last_sign_in_at !== null) member.lastLogin = timestampFromMs(row.last_sign_in_at);
          if (row.last_seen_at !== null) member.lastAccess = timestampFromMs(row.last_seen_at);
          return member;
        }),
        invites: (await invitations.list(organizationId)).map(toInvite),
      };
    },

    /** Owners of the organisation end anybody's membership, members their own. */
    async deleteOrganizationMember({ organizationId, userId }, context) {
      const scope = await callers.scope(context);
      const isOwn = scope.caller.person !== undefined && scope.caller.person.userId === userId;
      await scope.organization(organizationId, isOwn ? "see" : "manage");
      await queries.transaction().execute(async (transaction) => {
        const grants = await transaction.deleteFrom("user_grants")
          .where("org_id", "=", organizationId).where("user_id", "=", userId)
          .returning(["resource_type as resource", "resource_id as id"]).execute();
        if (grants.length === 0) throw notFound("member", userId);
        await requireAnOwner(transaction, organizationId);
        await recordAccessChange(transaction, organizationId, grants, clock.now());
      });
      await changes.drain();
      return {};
    },

    /** Whoever shares an organisation with the caller is found; others are as if they were not. */
    async getUserIDByEmail({ email }, context) {
      const scope = await callers.scope(context);
      if (email === "") throw new ConnectError("email: it is missing", Code.InvalidArgument);
      const user = await userByEmail(queries, normalEmail(email));
      const shared = user && await queries.selectFrom("user_grants").select("user_id")
        .where("user_id", "=", user.id).where("org_id", "in", scope.orgIds).executeTakeFirst();
      if (user && (shared || scope.caller.person?.userId === user.id)) return { userId: user.id };
      throw new ConnectError(
        `nobody with the address ${JSON.stringify(email)} is in your organisations`,
        Code.NotFound,
      );
    },
  };
}
