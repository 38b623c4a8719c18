import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../access/callers.ts";
import { sharesOf } from "../access/location_tree.ts";
import { type LocationRow, notFound, type Scope } from "../access/scope.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";

export interface LocationSharingOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
}

/**
 * The calls of AppService that let another organisation use the machines of a location and of those
 * within it. Its members become operators there; what that is stands in `location_tree.ts`.
 */
export function locationSharing(
  { callers, queries, changes, clock }: LocationSharingOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const change = async <T>(
    { id, org_id }: LocationRow,
    work: (queries: Queries) => Promise<T>,
  ): Promise<T> => {
    const done = await queries.transaction().execute(async (transaction) => {
      const result = await work(transaction);
      await recordAccessChange(transaction, org_id, [{ resource: "location", id }], clock.now());
      return result;
    });
    await changes.drain();
    return done;
  };
  return {
    /** Sharing again changes nothing. */
    async shareLocation({ locationId, organizationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "manage");
      if (organizationId === row.org_id) {
        throw new ConnectError(
          "organization_id: the location belongs to this organisation; name another one",
          Code.InvalidArgument,
        );
      }
      const guest = await queries.selectFrom("organizations").select("id")
        .where("id", "=", organizationId).executeTakeFirst();
      if (!guest) throw notFound("organization", organizationId);
      await change(row, async (transaction) => {
        await transaction.insertInto("location_shares").values({
          ...{ location_id: row.id, org_id: guest.id, shared_at: clock.now().getTime() },
        }).onConflict((conflict) => conflict.doNothing()).execute();
      });
      return {};
    },

    /** Owners of the location end it, and those of the organisation that it is shared with. */
    async unshareLocation({ locationId, organizationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "see");
      const leaves = scope.orgIds.includes(organizationId) &&
        scope.allows("manage", { orgId: organizationId }) && organizationId !== row.org_id;
      if (!leaves) await scope.location(locationId, "manage");
      const { numDeletedRows } = await change(
        row,
        (transaction) =>
          transaction.deleteFrom("location_shares")
            .where("location_id", "=", row.id).where("org_id", "=", organizationId)
            .executeTakeFirst(),
      );
      if (numDeletedRows === 0n) throw await notShared(queries, scope, row.id, organizationId);
      return {};
    },

    async getOrganizationsWithAccessToLocation({ locationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "see");
      const isManaged = scope.allows("manage", { orgId: row.org_id, locationId: row.id });
      const shares = (await sharesOf(queries, [row.id])).get(row.id) ?? [];
      const told = shares.map(({ orgId }) => orgId)
        .filter((id) => isManaged || scope.orgIds.includes(id));
      const ids = [...new Set([row.org_id, ...told])];
      const names = await queries.selectFrom("organizations").select(["id", "name"])
        .where("id", "in", ids).execute();
      return {
        organizationIdentities: ids.flatMap((id) => names.find((each) => each.id === id) ?? []),
      };
    },
  };
}

async function notShared(
  queries: Queries,
  scope: Scope,
  locationId: string,
  organizationId: string,
): Promise<ConnectError> {
  if (organizationId === "") return notFound("organization", "");
  const inherited = (await sharesOf(queries, [locationId])).get(locationId)
    ?.find(({ orgId }) => orgId === organizationId);
  if (!inherited) {
    return new ConnectError("the location is not shared with this organisation", Code.NotFound);
  }
  const outer = await scope.locations().select("locations.name")
    .where("locations.id", "=", inherited.sharedId).executeTakeFirst();
  return new ConnectError(
    `the location is in ${
      outer?.name ?? "another one"
    }, which is shared; stop sharing it, or take this ` +
      "location out of it",
    Code.FailedPrecondition,
  );
}
