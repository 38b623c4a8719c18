import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../access/callers.ts";
import type { LocationRow, Scope } from "../access/scope.ts";
import { DEEPEST_LOCATION, locationDepth, locationPath } from "../access/location_tree.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { Random } from "../../storage/keys/random.ts";
import { withdrawGrants } from "../../storage/keys/withdraw_grants.ts";
import { createLocation } from "./creation.ts";
import { requireTitle } from "../../api/names/names.ts";
import { type LocationMessagesOptions, toLocations } from "./location_messages.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface LocationMethodsOptions extends LocationMessagesOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
}

/** What is reported of what is in a location. */
const TOLD_NAMES = 3;

/** The calls of AppService that make, rename, move and delete locations. */
export function locationMethods(
  options: LocationMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers, queries, changes, clock, random } = options;
  const answer = async (scope: Scope, id: string) => {
    const [location] = await toLocations(options, scope, [await scope.location(id, "see")]);
    return location ? { location } : {};
  };
  /** Who may do what in a location and those within it follows from where it is. */
  const change = async <T>(
    orgId: string,
    locationIds: readonly string[],
    work: (queries: Queries) => Promise<T>,
  ): Promise<T> => {
    const done = await queries.transaction().execute(async (transaction) => {
      const result = await work(transaction);
      const concerned = locationIds.map((id) => ({ resource: "location", id }) as const);
      await recordAccessChange(transaction, orgId, concerned, clock.now());
      return result;
    });
    await changes.drain();
    return done;
  };
  return {
    async createLocation({ organizationId, name, parentLocationId }, context) {
      const scope = await callers.scope(context);
      const parent = parentLocationId
        ? await scope.location(parentLocationId, "manage")
        : undefined;
      // Owners of a location make others within it.
      const organization = await scope.organization(organizationId, parent ? "see" : "manage");
      if (parent) requireSameOrganization(parent, organization.id);
      requireTitle("name", name);
      // Nothing is in it yet.
      const id = await change(organization.id, [], async (transaction) => {
        if (parent) await requireRoom(transaction, parent.id, 1);
        return await createLocation(
          { queries: transaction, random, now: clock.now() },
          { orgId: organization.id, name, parentId: parent?.id },
        );
      });
      return await answer(await callers.scope(context), id);
    },

    /** An empty parent takes the location out of the one that it is in. */
    async updateLocation({ locationId, name, parentLocationId, region }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "manage");
      if (region !== undefined && region !== "") {
        throw new ConnectError(
          "region: this cloud keeps everything where it runs; leave the region out",
          Code.InvalidArgument,
        );
      }
      if (name !== undefined) requireTitle("name", name);
      const parentId = parentLocationId === undefined ? row.parent_id : parentLocationId || null;
      const isMoved = parentId !== row.parent_id;
      if (isMoved) await requireMovable(scope, row, parentId);
      const set = { ...(name === undefined ? {} : { name }), parent_id: parentId };
      const save = async (transaction: Queries) => {
        if (isMoved && parentId !== null) await requireNoCircle(transaction, row, parentId);
        await transaction.updateTable("locations").set(set).where("id", "=", row.id).execute();
      };
      if (isMoved) await change(row.org_id, [row.id], save);
      else await save(queries);
      return await answer(await callers.scope(context), row.id);
    },

    async deleteLocation({ locationId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.location(locationId, "manage");
      await change(row.org_id, [], async (transaction) => {
        await requireEmpty(transaction, row);
        await withdrawGrants(transaction, { resource: "location", id: row.id }, clock.now());
        await transaction.deleteFrom("locations").where("id", "=", row.id).execute();
      });
      return {};
    },
  };
}

/** Who takes a location out of another takes it from that one's people. */
async function requireMovable(
  scope: Scope,
  row: LocationRow,
  parentId: string | null,
): Promise<void> {
  if (parentId === null) await scope.organization(row.org_id, "manage");
  else requireSameOrganization(await scope.location(parentId, "manage"), row.org_id);
  if (row.parent_id !== null) await scope.location(row.parent_id, "manage");
}

function requireSameOrganization(parent: LocationRow, orgId: string): void {
  if (parent.org_id === orgId) return;
  throw refusal(
    "OTHER_ORGANIZATION",
    { name: parent.name },
    `parent_location_id: ${parent.name} belongs to another organisation`,
    Code.InvalidArgument,
  );
}

async function requireNoCircle(
  queries: Queries,
  row: LocationRow,
  parentId: string,
): Promise<void> {
  if ((await locationPath(queries, parentId)).includes(row.id)) {
    throw refusal(
      "LOCATION_WITHIN_ITSELF",
      { name: row.name },
      `parent_location_id: ${row.name} would be within itself; choose a location that is not in it`,
      Code.InvalidArgument,
    );
  }
  await requireRoom(queries, parentId, await locationDepth(queries, row.id));
}

async function requireRoom(queries: Queries, parentId: string, levels: number): Promise<void> {
  if ((await locationPath(queries, parentId)).length + levels <= DEEPEST_LOCATION) return;
  throw refusal(
    "LOCATION_TOO_DEEP",
    { most: DEEPEST_LOCATION },
    `parent_location_id: at most ${DEEPEST_LOCATION} locations may be within one another`,
    Code.InvalidArgument,
  );
}

async function requireEmpty(queries: Queries, row: LocationRow): Promise<void> {
  const machines = await queries.selectFrom("machines").select("name")
    .where("location_id", "=", row.id).orderBy("name").limit(TOLD_NAMES + 1).execute();
  const locations = await queries.selectFrom("locations").select("name")
    .where("parent_id", "=", row.id).orderBy("name").limit(TOLD_NAMES + 1).execute();
  const inside = machines.length > 0
    ? { what: "machines", all: machines }
    : { what: "locations", all: locations };
  if (inside.all.length === 0) return;
  const names = inside.all.slice(0, TOLD_NAMES).map(({ name }) => name).join(", ");
  throw refusal(
    "LOCATION_NOT_EMPTY",
    { name: row.name, content: names },
    `location ${row.name} has ${inside.what} (${names}` +
      `${inside.all.length > TOLD_NAMES ? ", …" : ""}); move or delete them first`,
    Code.FailedPrecondition,
  );
}
