import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type Authorization,
  AuthorizationSchema,
  type OrganizationInvite,
  OrganizationInviteSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { requireFew } from "../../api/lists/few.ts";
import { requireNoMoreThanOwn } from "../access/api_keys.ts";
import { placeOf, toGrant } from "../access/authorizations.ts";
import type { Callers } from "../access/callers.ts";
import { grantsFor, organizationOf } from "../access/caller.ts";
import { notFound, type Scope } from "../access/scope.ts";
import type { Invitation, Invitations } from "../invitations/invitations.ts";
import { emailProblem, normalEmail } from "../people/emails.ts";
import type { UserGrant } from "../people/users.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** The calls of AppService about invitations. */
export function invitationMethods(
  { callers, invitations }: {
    readonly callers: Pick<Callers, "scope">;
    readonly invitations: Invitations;
  },
): Partial<ServiceImpl<typeof AppService>> {
  /** One that the caller could have written. */
  const ownInvitation = async (scope: Scope, orgId: string, email: string) => {
    await scope.organization(orgId, "see");
    // Who owns nothing here does not learn who is invited.
    const owned = grantsFor(scope.caller, "manage")
      .some((grant) => organizationOf(scope.caller, grant) === orgId);
    if (!owned) scope.refuse("organization");
    const invitation = await invitations.of(orgId, normalEmail(email));
    if (!invitation) throw notFound("invitation", email);
    // What it was for may be gone; who owns the organisation needs not see it.
    if (!scope.allows("manage", { orgId })) await requireOwn(scope, invitation.grants);
    return invitation;
  };
  return {
    async createOrganizationInvite(request, context) {
      const scope = await callers.scope(context);
      const { id: orgId } = await scope.organization(request.organizationId, "see");
      const email = normalEmail(request.email);
      const problem = emailProblem(email);
      if (problem) {
        throw refusal("EMAIL_INVALID", { email }, `email: ${problem}`, Code.InvalidArgument);
      }
      const wanted = request.authorizations.length === 0
        ? [{ role: "owner", resource: "organization", id: orgId } as const]
        : await grantsIn(scope, orgId, request.authorizations);
      await requireOwn(scope, wanted);
      const invitedBy = scope.caller.actor.id;
      const isMailed = request.sendEmailInvite ?? true;
      const { invitation, token } = await invitations.create({
        ...{ orgId, email, grants: distinct(wanted), invitedBy, atSignIn: !isMailed },
      });
      if (isMailed) await invitations.send(invitation, token);
      return { invite: toInvite(invitation) };
    },

    async updateOrganizationInviteAuthorizations(request, context) {
      const scope = await callers.scope(context);
      const orgId = request.organizationId;
      const invitation = await ownInvitation(scope, orgId, request.email);
      const [added, removed] = [
        await grantsIn(scope, orgId, request.addAuthorizations),
        await grantsIn(scope, orgId, request.removeAuthorizations),
      ];
      if (added.length + removed.length === 0) {
        throw new ConnectError(
          "add_authorizations, remove_authorizations: both are empty; say what changes",
          Code.InvalidArgument,
        );
      }
      await requireOwn(scope, added);
      const kept = invitation.grants.filter((grant) => !removed.some((each) => same(each, grant)));
      const grants = distinct([...kept, ...added]);
      if (grants.length === 0) {
        throw new ConnectError(
          "nothing would be left that the invitation gives; withdraw it with " +
            "DeleteOrganizationInvite",
          Code.InvalidArgument,
        );
      }
      await invitations.setGrants(invitation, grants);
      return { invite: toInvite({ ...invitation, grants }) };
    },

    async deleteOrganizationInvite({ organizationId, email }, context) {
      const scope = await callers.scope(context);
      await invitations.withdraw(await ownInvitation(scope, organizationId, email));
      return {};
    },

    async resendOrganizationInvite({ organizationId, email, sendEmailInvite }, context) {
      const scope = await callers.scope(context);
      const invitation = await ownInvitation(scope, organizationId, email);
      const token = await invitations.renew(invitation);
      if (sendEmailInvite ?? true) await invitations.send(invitation, token);
      return { invite: toInvite(invitation) };
    },
  };
}

/** What authorizations say, all of them in one organisation. */
async function grantsIn(
  scope: Scope,
  orgId: string,
  authorizations: readonly Authorization[],
): Promise<UserGrant[]> {
  requireFew("authorizations", authorizations);
  return await Promise.all(authorizations.map(async (each) => {
    const { grant, place } = await toGrant(scope, each);
    if (place.orgId === orgId) return grant;
    throw notFound(grant.resource, grant.id);
  }));
}

async function requireOwn(scope: Scope, grants: readonly UserGrant[]): Promise<void> {
  requireNoMoreThanOwn(
    scope.caller,
    await Promise.all(grants.map((grant) => placeOf(scope, grant))),
  );
}

function same(a: UserGrant, b: UserGrant): boolean {
  return a.role === b.role && a.resource === b.resource && a.id === b.id;
}

/** One role on each thing: the last one. */
function distinct(grants: readonly UserGrant[]): UserGrant[] {
  return [...new Map(grants.map((grant) => [`${grant.resource} ${grant.id}`, grant])).values()];
}

export function toInvite(invitation: Invitation): OrganizationInvite {
  return create(OrganizationInviteSchema, {
    organizationId: invitation.orgId,
    email: invitation.email,
    createdOn: timestampFromMs(invitation.createdAtMs),
    authorizations: invitation.grants.map((grant) =>
      toAuthorization(grant, { orgId: invitation.orgId, identityType: "user", identityId: "" })
    ),
  });
}

export function toAuthorization(
  grant: UserGrant,
  holder: {
    readonly orgId: string;
    readonly identityType: "user" | "api-key";
    readonly identityId: string;
  },
): Authorization {
  return create(AuthorizationSchema, {
    authorizationType: "role",
    authorizationId: `${grant.resource}_${grant.role}`,
    resourceType: grant.resource,
    resourceId: grant.id,
    organizationId: holder.orgId,
    identityType: holder.identityType,
    identityId: holder.identityId,
  });
}
