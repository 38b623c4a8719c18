import { create } from "@bufbuild/protobuf";
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type ConsoleService,
  GetPartLiveStatusResponseSchema,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { AgentStatuses } from "../releases/agents/agent_statuses.ts";
import type { VersionHistory } from "../releases/agents/version_history.ts";
import type { PartTarget, PartTargets } from "../releases/agents/part_targets.ts";
import type { Target } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { ownVersion } from "../../shared/base/build_info/family_version.ts";
import type { Callers } from "../accounts/access/callers.ts";
import { partPlace, type PartRow } from "../accounts/access/scope.ts";
import { toTarget } from "../releases/catalogue/release_messages.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { MapTiles } from "./map_tiles.ts";
import { watchFleet } from "./fleet_stream.ts";
import { placeOf, toGeoPoint } from "./machine_places.ts";
import { withoutSecrets } from "../releases/catalogue/selectors.ts";
import type { ChangedMachines } from "../fleet/presence/changed_machines.ts";
import type { Presence } from "../fleet/presence/presence.ts";
import type { LiveStatus } from "../fleet/watch/live_status.ts";

export interface ConsoleServiceOptions {
  readonly callers: Callers;
  readonly presence: Presence;
  readonly changed: Pick<ChangedMachines, "follow">;
  readonly live: LiveStatus;
  readonly statuses: AgentStatuses;
  readonly targets: PartTargets;
  readonly versions: VersionHistory;
  readonly publicUrl: () => string;
  readonly clock: Clock;
  /** Left out: the map has no tiles. */
  readonly mapTiles?: MapTiles | undefined;
  /** What is odd about the saved configuration of a part. */
  readonly warnings: { of(part: PartRow): Promise<readonly string[]> };
}

/** `machine.cloud.v1.ConsoleService`: what the console asks beyond the public API. */
export function consoleService(
  options: ConsoleServiceOptions,
): ServiceImpl<typeof ConsoleService> {
  const { callers, presence, live, statuses, targets, versions, warnings } = options;
  return {
    async getPartLiveStatus({ partId }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(partId, "see");
      const { state, lastAccess, facts } = presence.of(part.id);
      const report = live.look(part.id);
      const response = create(GetPartLiveStatusResponseSchema, {
        online: state === "online",
        configError: report?.configError ?? "",
        readings: [...report?.readings ?? []],
        serverVersion: ownVersion(facts.serverVersion ?? ""),
        agentVersion: facts.agentVersion ?? "",
        configWarnings: scope.allows("manage", partPlace(part)) ? [...await warnings.of(part)] : [],
      });
      if (lastAccess) response.lastSeen = timestampFromDate(lastAccess);
      if (report) response.reportedAt = timestampFromDate(report.reportedAt);
      if (report?.status) response.status = report.status;
      const agent = statuses.of(part.id);
      if (agent) {
        response.agent = agent.status;
        response.agentReportedAt = timestampFromDate(agent.reportedAt);
      }
      const platform = facts.platform ?? "";
      const wanted = await targets.of(part, {
        platform,
        installed: {
          "machine-agent": statuses.installed(part.id, "machine-agent"),
          "machine-server": statuses.installed(part.id, "machine-server"),
        },
      });
      const place = { platform, publicUrl: options.publicUrl() };
      response.agentTarget = shownTarget(wanted.agent, place);
      response.serverTarget = shownTarget(wanted.server, place);
      return response;
    },

    async listInstalledVersions({ partId }, context) {
      const part = await (await callers.scope(context)).part(partId, "see");
      return {
        versions: (await versions.of(part.id)).map(
          ({ program, version, previous, at, rollback_reason }) => ({
            ...{ program, version, previous, at: timestampFromMs(at) },
            ...{ isRollback: rollback_reason !== null, rollbackReason: rollback_reason ?? "" },
          }),
        ),
      };
    },

    async getMachinePosition({ machineId }, context) {
      const scope = await callers.scope(context);
      const machine = await scope.machine(machineId, "see");
      const place = await placeOf(scope, machine.id);
      if (!place) return {};
      const { reading } = place;
      return {
        position: toGeoPoint(place),
        movementSensor: reading?.movementSensor ?? "",
        partId: reading?.partId ?? "",
        ...(reading && { time: timestampFromMs(Math.floor(reading.receivedUs / 1_000)) }),
      };
    },

    async getMapTiles(_request, context) {
      await callers.scope(context);
      const { urlTemplate = "", attribution = "" } = options.mapTiles ?? {};
      return { urlTemplate, attribution };
    },

    watchFleet: ({ organizationId }, context) => watchFleet(organizationId, context, options),
  };
}

/** Everybody who sees the machine sees this: an address has no secrets in it. */
function shownTarget(
  { program, selector, resolution }: PartTarget,
  place: { readonly platform: string; readonly publicUrl: string },
): Target {
  const target = toTarget(program, selector, resolution, place);
  return { ...target, url: withoutSecrets(target.url) };
}
