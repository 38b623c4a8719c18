import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AgentDeviceService,
  type UpdateInfo,
  UpdateInfoSchema,
} from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import type { Callers } from "../access/callers.ts";
import { parseDocument } from "../machines/config_document.ts";
import type { Revisions } from "../machines/revisions.ts";
import type { PartFacts, Presence } from "../presence/presence.ts";
import { settingsSection, type UpdateTarget, updateTarget } from "./agent_settings.ts";

export interface AgentServiceOptions {
  readonly callers: Callers;
  readonly revisions: Revisions;
  readonly presence: Presence;
}

/** How often an agent asks; agents take nothing shorter. */
const CHECK_INTERVAL_MS = 5_000;

/** `viam.app.agent.v1.AgentDeviceService`: what a machine's agent is to do. */
export function agentService(
  { callers, revisions, presence }: AgentServiceOptions,
): ServiceImpl<typeof AgentDeviceService> {
  return {
    async deviceAgentConfig({ id, hostInfo, versionInfo }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      const platform = hostInfo?.platform ?? "";
      presence.learned(part.id, agentFacts(versionInfo?.agentRunning ?? "", platform));
      const config = parseDocument((await revisions.current(part)).config).value;
      return {
        checkInterval: durationFromMs(CHECK_INTERVAL_MS),
        agentUpdateInfo: updateInfo(updateTarget(config, "machine-agent", platform)),
        viamServerUpdateInfo: updateInfo(updateTarget(config, "machine-server", platform)),
        advancedSettings: settingsSection(config, "advanced_settings"),
        networkConfiguration: settingsSection(config, "network_configuration"),
        additionalNetworks: settingsSection(config, "additional_networks"),
        systemConfiguration: settingsSection(config, "system_configuration"),
      };
    },
  };
}

/** An empty one says that there is nothing to install. */
function updateInfo(target: UpdateTarget | undefined): UpdateInfo {
  return create(UpdateInfoSchema, target ?? {});
}

function agentFacts(agentVersion: string, platform: string): PartFacts {
  return {
    ...(agentVersion === "" ? {} : { agentVersion }),
    ...(platform === "" ? {} : { platform }),
  };
}
