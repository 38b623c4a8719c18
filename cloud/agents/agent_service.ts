import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AgentDeviceService,
  PackageFormat,
  type UpdateInfo,
  UpdateInfoSchema,
  type VersionInfo,
} from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import type { Callers } from "../access/callers.ts";
import { parseDocument } from "../machines/config_document.ts";
import type { Revisions } from "../machines/revisions.ts";
import type { PartFacts, Presence } from "../presence/presence.ts";
import { CUSTOM_URL } from "../releases/messages.ts";
import { programFile, releaseUrl } from "../releases/release_urls.ts";
import { settingsSection } from "./agent_settings.ts";
import type { AgentStatuses } from "./agent_statuses.ts";
import type { PartTarget, PartTargets } from "./part_targets.ts";
import type { ReleaseOutcomes } from "./release_outcomes.ts";

export interface AgentServiceOptions {
  readonly callers: Callers;
  readonly revisions: Revisions;
  readonly presence: Presence;
  readonly targets: PartTargets;
  readonly statuses: AgentStatuses;
  readonly outcomes: ReleaseOutcomes;
  readonly publicUrl: () => string;
}

/** How often an agent asks; agents take nothing shorter. */
const CHECK_INTERVAL_MS = 5_000;

/** `viam.app.agent.v1.AgentDeviceService`: what a machine's agent is to do. */
export function agentService(options: AgentServiceOptions): ServiceImpl<typeof AgentDeviceService> {
  const { callers, revisions, presence, targets, statuses, outcomes } = options;
  return {
    async deviceAgentConfig({ id, hostInfo, versionInfo }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      const platform = hostInfo?.platform ?? "";
      presence.learned(part.id, agentFacts(versionInfo?.agentRunning ?? "", platform));
      const status = versionInfo && statuses.learned(part.id, told(versionInfo, platform));
      if (status) await outcomes.note(part, status);
      const { agent, server } = await targets.of(part, {
        platform,
        installed: {
          "machine-agent": versionInfo?.agentInstalled ?? "",
          "machine-server": versionInfo?.viamServerInstalled ?? "",
        },
      });
      const config = parseDocument((await revisions.current(part)).config).value;
      const place = { platform, publicUrl: options.publicUrl() };
      return {
        checkInterval: durationFromMs(CHECK_INTERVAL_MS),
        agentUpdateInfo: updateInfo(agent, place),
        viamServerUpdateInfo: updateInfo(server, place),
        advancedSettings: settingsSection(config, "advanced_settings"),
        networkConfiguration: settingsSection(config, "network_configuration"),
        additionalNetworks: settingsSection(config, "additional_networks"),
        systemConfiguration: settingsSection(config, "system_configuration"),
      };
    },
  };
}

/** An empty one says that there is nothing to install. */
export function updateInfo(
  { program, resolution }: PartTarget,
  { platform, publicUrl }: { readonly platform: string; readonly publicUrl: string },
): UpdateInfo {
  switch (resolution.kind) {
    case "nothing":
      return create(UpdateInfoSchema);
    case "address":
      return create(UpdateInfoSchema, {
        filename: programFile(program, platform),
        url: resolution.url,
        version: CUSTOM_URL,
        sha256: Uint8Array.fromHex(resolution.sha256),
      });
    case "release": {
      const { release: { version }, file } = resolution;
      return create(UpdateInfoSchema, {
        // One for each release: agents of other makes keep the file under this name.
        filename: `${program}-${version}-${file.platform.replace("/", "-")}${
          programFile(program, file.platform).slice(program.length)
        }`,
        url: releaseUrl(publicUrl, program, { version, platform: file.platform }),
        version,
        sha256: Uint8Array.fromHex(file.sha256),
        format: PackageFormat.EXECUTABLE,
      });
    }
  }
}

function told(info: VersionInfo, platform: string) {
  return {
    platform,
    agent: { installed: info.agentInstalled, running: info.agentRunning },
    server: { installed: info.viamServerInstalled, running: info.viamServerRunning },
  };
}

function agentFacts(agentVersion: string, platform: string): PartFacts {
  return {
    ...(agentVersion === "" ? {} : { agentVersion }),
    ...(platform === "" ? {} : { platform }),
  };
}
