import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../access/callers.ts";
import type { Scope } from "../access/scope.ts";
import type { SharedSecrets } from "../access/secrets.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import { withdrawGrants } from "../../storage/keys/withdraw_grants.ts";
import { createLocation } from "./creation.ts";
import { titleProblem } from "../../api/names/names.ts";
import { importEntry } from "./default_fragments.ts";
import { toLocation, toOrganization } from "./organization_methods.ts";

export interface LocationMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly secrets: SharedSecrets;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
}

/** The calls of AppService that make, rename and delete locations, and rename organisations. */
export function locationMethods(
  { callers, queries, secrets, changes, clock, random }: LocationMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const location = async (scope: Scope, id: string) => {
    const row = await scope.location(id, "see");
    const { count } = await scope.machines().select((eb) => eb.fn.countAll<number>().as("count"))
      .where("machines.location_id", "=", id).executeTakeFirstOrThrow();
    const organization = await scope.organization(row.org_id, "see");
    return { location: await toLocation(scope, secrets, organization, row, Number(count)) };
  };
  return {
    async createLocation({ organizationId, name, parentLocationId }, context) {
      const scope = await callers.scope(context);
      const organization = await scope.organization(organizationId, "manage");
      requireTitle("name", name);
      refuseParent(parentLocationId);
      const id = await queries.transaction().execute((transaction) =>
        createLocation(
          { queries: transaction, random, now: clock.now() },
          { orgId: organization.id, name },
        )
      );
      return await location(scope, id);
    },

    async updateLocation({ locationId, name, parentLocationId, region }, context) {
      const scope = await callers.scope(context);
      await scope.location(locationId, "manage");
      refuseParent(parentLocationId);
      if (region !== undefined && region !== "") {
        throw new ConnectError(
          "region: this cloud keeps everything where it runs; leave the region out",
          Code.InvalidArgument,
        );
      }
      if (name !== undefined) {
        requireTitle("name", name);
        await queries.updateTable("locations").set({ name }).where("id", "=", locationId).execute();
      }
      return await location(scope, locationId);
    },

    async deleteLocation({ locationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "manage");
      await queries.transaction().execute(async (transaction) => {
        const inside = await transaction.selectFrom("machines").select("name")
          .where("location_id", "=", row.id).orderBy("name").limit(4).execute();
        if (inside.length > 0) {
          const names = inside.slice(0, 3).map((machine) => machine.name).join(", ");
          throw new ConnectError(
            `location ${row.name} has machines (${names}${inside.length > 3 ? ", …" : ""}); move ` +
              "or delete them first",
            Code.FailedPrecondition,
          );
        }
        await withdrawGrants(transaction, { resource: "location", id: row.id }, clock.now());
        await transaction.deleteFrom("locations").where("id", "=", row.id).execute();
        const change = { orgId: row.org_id, partId: undefined, kind: "access" } as const;
        await recordChange(transaction, change, clock.now());
      });
      await changes.drain();
      return {};
    },

    async getOrganizationsWithAccessToLocation({ locationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "see");
      const { id, name } = await scope.organization(row.org_id, "see");
      return { organizationIdentities: [{ id, name }] };
    },

    async updateOrganization(request, context) {
      const scope = await callers.scope(context);
      const row = await scope.organization(request.organizationId, "manage");
      refuseOthers(request);
      if (request.name !== undefined && request.name !== "") {
        requireTitle("name", request.name);
        await queries.updateTable("organizations").set({ name: request.name })
          .where("id", "=", row.id).execute();
      }
      if (request.defaultFragments) {
        const imports = request.defaultFragments.fragments;
        for (const { fragmentId } of imports) await scope.fragment(fragmentId, "see");
        await queries.updateTable("organizations")
          .set({ default_fragments: JSON.stringify(imports.map(importEntry)) })
          .where("id", "=", row.id).execute();
      }
      return { organization: toOrganization(await scope.organization(row.id, "see")) };
    },
  };
}

/** Fields of UpdateOrganization that nothing here acts on, each with what to do. */
function refuseOthers(request: {
  readonly publicNamespace?: string | undefined;
  readonly region?: string | undefined;
  readonly cid?: string | undefined;
  readonly allowedLoginMethods?: unknown;
}): void {
  const refused = request.publicNamespace
    ? "public_namespace: ask UpdateOrganizationNamespace for it"
    : request.region
    ? "region: this cloud keeps everything where it runs; leave the region out"
    : request.cid
    ? "cid: this cloud has no such number; leave it out"
    : request.allowedLoginMethods
    ? "allowed_login_methods: keys are the only way to sign in here"
    : undefined;
  if (refused) throw new ConnectError(refused, Code.InvalidArgument);
}

function refuseParent(parentLocationId: string | undefined): void {
  if (!parentLocationId) return;
  throw new ConnectError(
    "parent_location_id: locations within locations are not available in this version",
    Code.Unimplemented,
  );
}

function requireTitle(field: string, name: string): void {
  const problem = titleProblem(name);
  if (problem) throw new ConnectError(`${field}: ${problem}`, Code.InvalidArgument);
}
