import { create } from "@bufbuild/protobuf";
import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  AppService,
  Robot,
  UpdateRobotPartRequest,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import {
  type MachineRow,
  partPlace,
  type PartRow,
  type Scope,
} from "../../accounts/access/scope.ts";
import type { SharedSecrets } from "../../accounts/access/secrets.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { inOrder, inSlices } from "../../api/paging/slices.ts";
import type { LogIntake } from "../logs/log_intake.ts";
import { LONGEST_MACHINE_NAME, machineNameProblem } from "../../api/names/names.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import type { ChangedMachines } from "../presence/changed_machines.ts";
import type { Presence } from "../presence/presence.ts";
import type { RecentDocuments } from "../configuration/recent_documents.ts";
import { checkedConfig, configWarnings } from "../configuration/config_check.ts";
import { deletedKeys } from "../configuration/edited_by.ts";
import { effectiveText } from "../fragments/effective_configs.ts";
import { savedHow } from "../fragments/saved_how.ts";
import { toHistoryEntry, toRobot, toRobotPart } from "./robot_messages.ts";
import type { Restarts } from "./restarts.ts";
import type { Revisions } from "./revisions.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface MachineMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly documents: RecentDocuments;
  readonly secrets: SharedSecrets;
  readonly revisions: Revisions;
  readonly restarts: Restarts;
  readonly presence: Presence;
  readonly changed: Pick<ChangedMachines, "add">;
  readonly clock: Clock;
  readonly domain: string;
  /** Where what is odd about a saved configuration is reported; default: nowhere. */
  readonly logs?: Pick<LogIntake, "take">;
}

/** Logger of the cloud's words on a configuration, in the logs of its machine. */
const CONFIG_LOGGER = "app.config";
const HISTORY_PAGE = 10;
const LARGEST_HISTORY_PAGE = 100;

/** The calls of AppService about machines and their parts. */
export function machineMethods(
  options: MachineMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers, revisions, restarts } = options;
  return {
    async listRobots({ locationId }, context) {
      const scope = await callers.scope(context);
      await scope.location(locationId, "see");
      return { robots: await allRobots(options, scope, { locationIds: [locationId] }) };
    },

    async getRobot({ id }, context) {
      const scope = await callers.scope(context);
      const [robot] = await robots(options, scope, [await scope.machine(id, "see")]);
      return robot ? { robot } : {};
    },

    async getRobotParts({ robotId }, context) {
      const scope = await callers.scope(context);
      await scope.machine(robotId, "see");
      const rows = await scope.parts().selectAll("parts").where("parts.machine_id", "=", robotId)
        .orderBy("parts.is_main", "desc").orderBy("parts.name").execute();
      return { parts: await Promise.all(rows.map((row) => robotPart(options, scope, row))) };
    },

    async getRobotPart({ id }, context) {
      const scope = await callers.scope(context);
      const part = await robotPart(options, scope, await scope.part(id, "see"));
      return { part, configJson: part.robotConfigJson ?? "" };
    },

    async updateRobotPart(request, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(request.id, "manage");
      const edit = await partEdit(request, options.documents);
      const saved = await revisions.save(
        part.id,
        { ...edit, how: savedHow(context) },
        scope.caller.actor,
      );
      if (edit.config) await tellWarnings(options, part.id);
      return { part: await robotPart(options, scope, saved) };
    },

    async getRobotPartHistory(request, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(request.id, "manage");
      const token = parsePageToken(request.pageToken, 1);
      const page = await revisions.history(part, {
        limit: pageSize(request.pageLimit, HISTORY_PAGE, LARGEST_HISTORY_PAGE),
        below: token && Number(token[0]),
        fromMs: request.start && timestampMs(request.start),
        toMs: request.end && timestampMs(request.end),
      });
      const deleted = await deletedKeys(options.queries, part.org_id);
      return {
        history: page.saves.map((entry) =>
          toHistoryEntry(part, { ...entry, byDeletedKey: deleted.has(entry.save.saved_by) })
        ),
        nextPageToken: page.next === undefined ? "" : pageToken(page.next),
      };
    },

    async markPartForRestart({ partId }, context) {
      const scope = await callers.scope(context);
      await restarts.request(await scope.part(partId, "manage"));
      return {};
    },
  };
}

/** Checks everything a save says before anything is written. */
async function partEdit(request: UpdateRobotPartRequest, documents: RecentDocuments) {
  const { name, lastKnownUpdate, robotConfig, robotConfigJson } = request;
  const problem = name === "" ? undefined : machineNameProblem(name);
  if (problem) {
    throw refusal(
      "NAME_INVALID",
      { name, most: LONGEST_MACHINE_NAME },
      `name: ${JSON.stringify(name)} is no name for a part: ${problem}`,
      Code.InvalidArgument,
    );
  }
  return {
    name: name === "" ? undefined : name,
    config: await checkedConfig(robotConfigJson ?? robotConfig, documents),
    keepText: robotConfigJson !== undefined,
    lastKnownUpdateMs: lastKnownUpdate && timestampMs(lastKnownUpdate),
  };
}

/**
 * The machine never sees most keys that are not known, so the cloud reports it, in the machine's
 * log.
 */
async function tellWarnings(
  { queries, documents, logs, clock }: MachineMethodsOptions,
  partId: string,
): Promise<void> {
  const time = timestampFromDate(clock.now());
  const messages = configWarnings(documents.reading(await effectiveText(queries, partId)));
  await logs?.take(
    partId,
    messages.map((message) =>
      create(LogEntrySchema, { time, level: "warn", loggerName: CONFIG_LOGGER, message })
    ),
  );
}

/** A part as the caller may see it. */
export async function robotPart(options: MachineMethodsOptions, scope: Scope, part: PartRow) {
  const isOwner = scope.allows("manage", partPlace(part));
  // Whoever stole a secret must not learn the one that takes its place.
  const managed = isOwner || scope.allows("report", partPlace(part))
    ? {
      revision: await options.revisions.current(part),
      secrets: isOwner ? await options.secrets.ofPart(part.id) : [],
    }
    : undefined;
  const { presence, domain, clock } = options;
  return toRobotPart(part, presence.of(part.id), domain, clock.now(), managed);
}

/**
 * All machines of an organisation or of locations, by name. The calls that list them have no pages,
 * so they are read in slices, between which others are served.
 */
export async function allRobots(
  options: MachineMethodsOptions,
  scope: Scope,
  of: { readonly orgId: string } | { readonly locationIds: readonly string[] },
) {
  const ids = await scope.machines().select("machines.id")
    .where((eb) =>
      "orgId" in of
        ? scope.inOrganization("machines", of.orgId)
        : eb("machines.location_id", "in", of.locationIds)
    )
    .orderBy("machines.name").orderBy("machines.id").execute();
  const found: Robot[] = [];
  for await (const slice of inSlices(ids.map(({ id }) => id))) {
    const rows = await scope.machinesAmong(slice).selectAll("machines").execute();
    found.push(...await robots(options, scope, inOrder(slice, rows)));
  }
  return found;
}

/** Machines with whether their main parts are online. */
export async function robots(
  { presence, clock }: MachineMethodsOptions,
  scope: Scope,
  machines: readonly MachineRow[],
) {
  if (machines.length === 0) return [];
  const mainParts = await scope.partsOfMachines(machines.map((machine) => machine.id))
    .select(["parts.id", "parts.machine_id"])
    .where("parts.is_main", "=", 1).execute();
  const byMachine = new Map(mainParts.map((part) => [part.machine_id, part.id]));
  const now = clock.now();
  return machines.map((machine) =>
    toRobot(machine, presence.of(byMachine.get(machine.id) ?? ""), now)
  );
}
