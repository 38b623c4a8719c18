import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type OrgDetails,
  OrgDetailsSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import { requireTitle } from "../../api/names/names.ts";
import type { Callers } from "../access/callers.ts";
import type { OrganizationRow } from "../access/scope.ts";
import { giveRole } from "../people/users.ts";
import { createOrganization } from "./creation.ts";
import { removeOrganization, requireEmpty } from "./organization_deletion.ts";
import { toOrganization } from "./organization_methods.ts";

export interface OwnOrganizationMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
}

/** The calls of AppService about which organisations there are, for people. */
export function ownOrganizationMethods(
  { callers, queries, changes, clock, random }: OwnOrganizationMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async createOrganization({ name }, context) {
      const { caller: { person } } = await callers.scope(context);
      if (!person) {
        throw new ConnectError(
          "an API key belongs to one organisation and could not use another; sign in as a person, " +
            "or make one with machine-cloud bootstrap --org",
          Code.FailedPrecondition,
        );
      }
      requireTitle("name", name);
      const row = await queries.transaction().execute(async (transaction) => {
        const now = clock.now();
        const orgId = await createOrganization({ queries: transaction, random, now }, name);
        const grant = { role: "owner", resource: "organization", id: orgId } as const;
        await giveRole(transaction, { userId: person.userId, orgId, grant }, now);
        const record = currentRecord();
        if (record) record.orgId = orgId;
        return await transaction.selectFrom("organizations").selectAll().where("id", "=", orgId)
          .executeTakeFirstOrThrow();
      });
      await changes.drain();
      return { organization: toOrganization(row) };
    },

    async deleteOrganization({ organizationId }, context) {
      const scope = await callers.scope(context);
      const organization = await scope.organization(organizationId, "manage");
      await queries.transaction().execute(async (transaction) => {
        await requireEmpty(transaction, organization);
        await recordChange(
          transaction,
          { orgId: organization.id, partId: undefined, kind: "access" },
          clock.now(),
        );
        await removeOrganization(transaction, organization);
      });
      await changes.drain();
      return {};
    },

    /** One's own, or those in which the caller is owner and that person a member. */
    async listOrganizationsByUser({ userId }, context) {
      const scope = await callers.scope(context);
      const own = scope.caller.person?.userId;
      const asked = userId === "" ? own : userId;
      if (asked === undefined) {
        throw new ConnectError("user_id: it is missing", Code.InvalidArgument);
      }
      const member = queries.selectFrom("user_grants").select("org_id").where(
        "user_id",
        "=",
        asked,
      );
      const rows = await scope.organizations().selectAll("organizations")
        .where("organizations.id", "in", member).orderBy("organizations.name").execute();
      return {
        orgs: rows.filter((row) => asked === own || scope.allows("manage", { orgId: row.id }))
          .map(toDetails),
      };
    },

    async searchOrganizations({ orgId, orgName, cid, publicNamespace }, context) {
      const scope = await callers.scope(context);
      const rows = await scope.organizations().selectAll("organizations")
        .orderBy("organizations.name").execute();
      // No organisation here has a number of a billing system.
      const fits = (row: OrganizationRow) =>
        (!orgId || row.id === orgId) && !cid &&
        (!orgName || row.name.toLowerCase().includes(orgName.toLowerCase())) &&
        (!publicNamespace || row.namespace === publicNamespace);
      return { organizations: rows.filter(fits).map(toDetails) };
    },
  };
}

function toDetails(row: OrganizationRow): OrgDetails {
  return create(OrgDetailsSchema, {
    orgId: row.id,
    orgName: row.name,
    publicNamespace: row.namespace ?? "",
  });
}
