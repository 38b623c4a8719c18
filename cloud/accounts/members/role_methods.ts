import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService, Authorization } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { requireNoMoreThanOwn } from "../access/api_keys.ts";
import { placeOf, toGrant } from "../access/authorizations.ts";
import type { Place } from "../access/caller.ts";
import type { Callers } from "../access/callers.ts";
import { notFound, type Scope } from "../access/scope.ts";
import { unlessRefused } from "../access/unless_refused.ts";
import { toAuthorization } from "./invitation_methods.ts";
import {
  addGrant,
  endWithoutGrants,
  grantsInOrganization,
  type HeldGrant,
  type Holder,
  removeGrant,
  requireAnOwner,
} from "./roles.ts";

export interface RoleMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
}

interface Asked {
  readonly orgId: string;
  readonly held: HeldGrant;
}

/** The calls of AppService about who has which role. Owners of a thing say who has one on it. */
export function roleMethods(
  { callers, queries, changes, clock }: RoleMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  /** A role on something that the caller owns, of somebody who is in that organisation. */
  const asked = async (
    scope: Scope,
    field: string,
    authorization: Authorization | undefined,
  ): Promise<Asked> => {
    if (!authorization) throw new ConnectError(`${field}: it is missing`, Code.InvalidArgument);
    const { grant, place } = await toGrant(scope, authorization);
    requireNoMoreThanOwn(scope.caller, [place]);
    const { kind, id } = identityOf(field, authorization);
    const known = await grantsInOrganization(queries, place.orgId);
    const found = known.find(({ holder }) =>
      holder.id === id && (kind === undefined || holder.kind === kind)
    );
    if (!found) throw notFound(kind === "api-key" ? "API key" : "member", id);
    return { orgId: place.orgId, held: { ...grant, holder: found.holder } };
  };
  const change = async (work: (transaction: Queries, now: Date) => Promise<void>) => {
    await queries.transaction().execute((transaction) => work(transaction, clock.now()));
    await changes.drain();
  };
  return {
    async addRole({ authorization }, context) {
      const scope = await callers.scope(context);
      const { orgId, held } = await asked(scope, "authorization", authorization);
      await change((transaction, now) => addGrant(transaction, orgId, held, now));
      return {};
    },

    async removeRole({ authorization }, context) {
      const scope = await callers.scope(context);
      const { orgId, held } = await asked(scope, "authorization", authorization);
      await change(async (transaction, now) => {
        await removeGrant(transaction, orgId, held, now);
        await requireAnOwner(transaction, orgId);
        await endWithoutGrants(transaction, held.holder, now);
      });
      return {};
    },

    async changeRole({ oldAuthorization, newAuthorization }, context) {
      const scope = await callers.scope(context);
      const before = await asked(scope, "old_authorization", oldAuthorization);
      const after = await asked(scope, "new_authorization", newAuthorization);
      if (before.orgId !== after.orgId) {
        throw new ConnectError(
          "new_authorization: it is of another organisation than old_authorization",
          Code.InvalidArgument,
        );
      }
      await change(async (transaction, now) => {
        await removeGrant(transaction, before.orgId, before.held, now);
        await addGrant(transaction, after.orgId, after.held, now);
        await requireAnOwner(transaction, after.orgId);
        await endWithoutGrants(transaction, before.held.holder, now);
      });
      return {};
    },

    async listAuthorizations({ organizationId, resourceIds }, context) {
      const scope = await callers.scope(context);
      await scope.organization(organizationId, "see");
      const all = await grantsInOrganization(queries, organizationId);
      const wanted = all.filter(({ id }) => resourceIds.length === 0 || resourceIds.includes(id));
      const places = new Map<string, Place | undefined>();
      for (const { resource, id } of wanted) {
        const key = `${resource} ${id}`;
        if (places.has(key)) continue;
        places.set(key, await unlessRefused(placeOf(scope, { resource, id })));
      }
      const managed = wanted.filter(({ resource, id }) => {
        const place = places.get(`${resource} ${id}`);
        return place && scope.allows("manage", place);
      });
      if (managed.length === 0 && !scope.allows("manage", { orgId: organizationId })) {
        scope.refuse("organization");
      }
      return {
        authorizations: managed.map(({ holder, ...grant }) =>
          toAuthorization(grant, {
            ...{ orgId: organizationId, identityType: holder.kind, identityId: holder.id },
          })
        ),
      };
    },
  };
}

/** Whose role it is. Clients that do not say whether it is a person or a key mean the one there is. */
function identityOf(
  field: string,
  { identityType, identityId }: Authorization,
): { readonly kind: Holder["kind"] | undefined; readonly id: string } {
  const kind = identityType === "" ? undefined : identityType;
  if (kind !== undefined && kind !== "user" && kind !== "api-key") {
    throw new ConnectError(
      `${field}.identity_type: ${JSON.stringify(identityType)} is unknown; allowed: user, api-key`,
      Code.InvalidArgument,
    );
  }
  if (identityId === "") {
    throw new ConnectError(`${field}.identity_id: it is missing`, Code.InvalidArgument);
  }
  return { kind, id: identityId };
}
