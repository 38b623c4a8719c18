import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { type MachineRow, partPlace, type Scope } from "../../accounts/access/scope.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { Random } from "../../storage/keys/random.ts";
import { LONGEST_MACHINE_NAME, machineNameProblem } from "../../api/names/names.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import { savedHow } from "../fragments/saved_how.ts";
import { type PartsChange, withRemoteRevisions } from "./remote_revisions.ts";
import { type ConfigDocument, documentOf, EMPTY_CONFIG } from "../configuration/config_document.ts";
import { createMachine, createPart } from "./creation.ts";
import { allRobots, type MachineMethodsOptions, robotPart, robots } from "./machine_methods.ts";
import { withdrawGrants } from "../../storage/keys/withdraw_grants.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface FleetMethodsOptions extends MachineMethodsOptions {
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly random: Random;
}

/** The calls of AppService that make, rename, move and delete machines and parts. */
export function fleetMethods(
  options: FleetMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers, queries, changes, changed, random, clock } = options;
  /**
   * Runs a change in a transaction; whoever listens has been notified when it resolves.
   *
   * @param accessTo the machine of which it changes who may use it: its parts are notified, those
   * too that it deletes
   */
  const change = async <T>(
    orgId: string,
    { accessTo }: { accessTo: string | undefined },
    work: (queries: Queries) => Promise<T>,
  ): Promise<T> => {
    const done = await queries.transaction().execute(async (transaction) => {
      if (accessTo !== undefined) {
        const concerned = { resource: "robot", id: accessTo } as const;
        await recordAccessChange(transaction, orgId, [concerned], clock.now());
      }
      return await work(transaction);
    });
    await changes.drain();
    return done;
  };
  const by = (scope: Scope, context: HandlerContext): PartsChange => ({
    ...{ actor: scope.caller.actor, how: savedHow(context), now: clock.now() },
  });
  return {
    async newRobot({ name, location: locationId }, context) {
      const scope = await callers.scope(context);
      const location = await scope.location(locationId, "manage");
      requireName("name", name);
      const { machineId } = await change(
        location.org_id,
        { accessTo: undefined },
        async (transaction) => {
          await requireFreeMachineName(transaction, location.id, name);
          const place = { orgId: location.org_id, locationId: location.id };
          return await createMachine(
            { queries: transaction, random, now: clock.now() },
            { ...place, name, config: await newMachineConfig(transaction, location.org_id) },
            by(scope, context),
          );
        },
      );
      changed.add(location.org_id, machineId);
      return { id: machineId };
    },

    async updateRobot({ id, name, location: locationId }, context) {
      const scope = await callers.scope(context);
      const machine = await scope.machine(id, "manage");
      const target = locationId === "" || locationId === machine.location_id
        ? undefined
        : await scope.location(locationId, "manage");
      if (target && target.org_id !== machine.org_id) {
        throw refusal(
          "OTHER_ORGANIZATION",
          { name: target.name },
          `location: ${target.name} belongs to another organisation; delete the machine and make ` +
            "it there again",
          Code.InvalidArgument,
        );
      }
      // Who takes a machine out of a location takes it from its people.
      if (target) await scope.location(machine.location_id, "manage");
      const wanted = name === "" ? machine.name : name;
      if (wanted !== machine.name) requireName("name", wanted);
      if (target || wanted !== machine.name) {
        await change(machine.org_id, { accessTo: target && machine.id }, async (transaction) => {
          const place = target?.id ?? machine.location_id;
          await requireFreeMachineName(transaction, place, wanted, machine.id);
          if (target) {
            await withRemoteRevisions(
              transaction,
              machine.id,
              by(scope, context),
              () => moveParts(transaction, machine, target.id, clock.now()),
            );
          }
          await transaction.updateTable("machines").set({ name: wanted, location_id: place })
            .where("id", "=", machine.id).execute();
        });
        changed.add(machine.org_id, machine.id);
      }
      const [robot] = await robots(options, scope, [await scope.machine(id, "see")]);
      return robot ? { robot } : {};
    },

    async deleteRobot({ id }, context) {
      const scope = await callers.scope(context);
      const machine = await scope.machine(id, "manage");
      await change(machine.org_id, { accessTo: machine.id }, async (transaction) => {
        await withdrawGrants(transaction, { resource: "robot", id: machine.id }, clock.now());
        await transaction.deleteFrom("machines").where("id", "=", machine.id).execute();
      });
      changed.add(machine.org_id, machine.id);
      return {};
    },

    async newRobotPart({ robotId, partName }, context) {
      const scope = await callers.scope(context);
      const machine = await scope.machine(robotId, "manage");
      requireName("part_name", partName);
      const partId = await change(machine.org_id, { accessTo: undefined }, async (transaction) => {
        const other = await transaction.selectFrom("parts").select("id")
          .where("machine_id", "=", machine.id).where("name", "=", partName).executeTakeFirst();
        if (other) {
          throw new ConnectError(
            `part_name: the machine has a part named ${JSON.stringify(partName)}`,
            Code.AlreadyExists,
          );
        }
        const make = () =>
          createPart({ queries: transaction, random, now: clock.now() }, {
            orgId: machine.org_id,
            locationId: machine.location_id,
            machineId: machine.id,
            machineName: machine.name,
            name: partName,
            isMain: false,
            config: EMPTY_CONFIG,
          }, by(scope, context));
        return await withRemoteRevisions(transaction, machine.id, by(scope, context), make);
      });
      return { partId };
    },

    async deleteRobotPart({ partId }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(partId, "manage");
      await change(part.org_id, { accessTo: part.machine_id }, async (transaction) => {
        const remove = () =>
          transaction.deleteFrom("parts")
            .where("id", "=", part.id).where("is_main", "=", 0).executeTakeFirst();
        const change = by(scope, context);
        const gone = await withRemoteRevisions(transaction, part.machine_id, change, remove);
        if (gone.numDeletedRows === 0n) {
          throw new ConnectError(
            `${part.name} is the main part of its machine; make another one the main part first, ` +
              "or delete the machine",
            Code.FailedPrecondition,
          );
        }
      });
      return {};
    },

    async markPartAsMain({ partId }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(partId, "manage");
      await scope.machine(part.machine_id, "manage");
      await change(part.org_id, { accessTo: undefined }, async (transaction) => {
        const choose = () =>
          transaction.updateTable("parts")
            .set((eb) => ({ is_main: eb.case().when("id", "=", part.id).then(1).else(0).end() }))
            .where("machine_id", "=", part.machine_id).execute();
        await withRemoteRevisions(transaction, part.machine_id, by(scope, context), choose);
      });
      changed.add(part.org_id, part.machine_id);
      return {};
    },

    async listRobotsForLocations({ locationIds }, context) {
      const scope = await callers.scope(context);
      for (const id of locationIds) await scope.location(id, "see");
      if (locationIds.length === 0) return { robots: [] };
      return { robots: await allRobots(options, scope, { locationIds }) };
    },

    async listRobotsForOrg({ orgId }, context) {
      const scope = await callers.scope(context);
      await scope.organization(orgId, "see");
      return { robots: await allRobots(options, scope, { orgId }) };
    },

    async getRobotPartByNameAndLocation({ name, locationId }, context) {
      const scope = await callers.scope(context);
      const location = await scope.location(locationId, "see");
      // Clients ask with the first label of the host name, people with the name.
      const rows = await scope.parts().selectAll("parts")
        .where("parts.location_id", "=", location.id)
        .where((eb) => eb.or([eb("parts.dns_label", "=", name), eb("parts.name", "=", name)]))
        .execute();
      const part = rows.find((row) => row.dns_label === name) ?? rows[0];
      if (!part || !scope.allows("see", partPlace(part))) {
        throw new ConnectError(
          `no part named ${JSON.stringify(name)} in location ${location.id}`,
          Code.NotFound,
        );
      }
      return { part: await robotPart(options, scope, part) };
    },
  };
}

/** What a new machine of an organisation begins with. */
async function newMachineConfig(queries: Queries, orgId: string): Promise<ConfigDocument> {
  const { default_fragments: list } = await queries.selectFrom("organizations")
    .select("default_fragments").where("id", "=", orgId).executeTakeFirstOrThrow();
  const fragments = JSON.parse(list) as JsonObject[];
  return fragments.length === 0 ? EMPTY_CONFIG : documentOf({ fragments });
}

/** A host name is a part's for good within its location; two of one label cannot meet. */
async function moveParts(
  queries: Queries,
  machine: MachineRow,
  locationId: string,
  now: Date,
): Promise<void> {
  const labels = queries.selectFrom("parts").select("dns_label").where(
    "location_id",
    "=",
    locationId,
  );
  const double = await queries.selectFrom("parts").select("dns_label")
    .where("machine_id", "=", machine.id).where("dns_label", "in", labels).executeTakeFirst();
  if (double) {
    throw refusal(
      "NAME_TAKEN",
      { name: double.dns_label },
      `location: a part there has the host name ${double.dns_label} already`,
      Code.AlreadyExists,
    );
  }
  await queries.updateTable("parts").set({ location_id: locationId })
    .where("machine_id", "=", machine.id).execute();
  // Their host names are others.
  const parts = await queries.selectFrom("parts").select("id").where("machine_id", "=", machine.id)
    .execute();
  for (const { id } of parts) {
    await recordChange(queries, { orgId: machine.org_id, partId: id, kind: "config" }, now);
  }
}

async function requireFreeMachineName(
  queries: Queries,
  locationId: string,
  name: string,
  ownId = "",
): Promise<void> {
  const other = await queries.selectFrom("machines").select("id")
    .where("location_id", "=", locationId).where("name", "=", name).where("id", "!=", ownId)
    .executeTakeFirst();
  if (!other) return;
  throw refusal(
    "NAME_TAKEN",
    { name },
    `name: the location has another machine named ${JSON.stringify(name)}`,
    Code.AlreadyExists,
  );
}

function requireName(field: string, name: string): void {
  const problem = machineNameProblem(name);
  if (problem === undefined) return;
  const message = `${field}: ${JSON.stringify(name)} cannot be a name: ${problem}`;
  throw refusal(
    "NAME_INVALID",
    { name, most: LONGEST_MACHINE_NAME },
    message,
    Code.InvalidArgument,
  );
}
