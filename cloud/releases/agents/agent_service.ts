import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AgentDeviceService,
  PackageFormat,
  type UpdateInfo,
  UpdateInfoSchema,
  type VersionInfo,
} from "../../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { parseDocument } from "../../fleet/configuration/config_document.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { effectiveText } from "../../fleet/fragments/effective_configs.ts";
import type { PartFacts, Presence } from "../../fleet/presence/presence.ts";
import { CUSTOM_URL } from "../catalogue/release_messages.ts";
import type { Program } from "../../storage/database/release_schema.ts";
import { releaseUrl } from "../catalogue/release_urls.ts";
import { settingsSection } from "./agent_settings.ts";
import type { AgentStatuses } from "./agent_statuses.ts";
import type { PartTarget, PartTargets } from "./part_targets.ts";
import type { ReleaseOutcomes } from "./release_outcomes.ts";
import type { VersionHistory } from "./version_history.ts";

export interface AgentServiceOptions {
  readonly callers: Callers;
  readonly queries: Queries;
  readonly presence: Presence;
  readonly targets: PartTargets;
  readonly statuses: AgentStatuses;
  readonly outcomes: ReleaseOutcomes;
  readonly versions: VersionHistory;
  readonly publicUrl: () => string;
}

/** How often an agent asks; agents take nothing shorter. */
const CHECK_INTERVAL_MS = 5_000;

/** `viam.app.agent.v1.AgentDeviceService`: what a machine's agent is to do. */
export function agentService(options: AgentServiceOptions): ServiceImpl<typeof AgentDeviceService> {
  const { callers, queries, presence, targets, statuses, outcomes, versions } = options;
  return {
    async deviceAgentConfig({ id, hostInfo, versionInfo }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      const platform = hostInfo?.platform ?? "";
      presence.learned(part.id, agentFacts(versionInfo?.agentRunning ?? "", platform));
      const status = versionInfo && statuses.learned(part.id, told(versionInfo, platform));
      if (status) {
        await versions.note(part.id, status);
        await outcomes.note(part, status);
      }
      const { agent, server } = await targets.of(part, {
        platform,
        installed: {
          "machine-agent": versionInfo?.agentInstalled ?? "",
          "machine-server": versionInfo?.viamServerInstalled ?? "",
        },
      });
      const config = parseDocument(await effectiveText(queries, part.id)).value;
      const publicUrl = options.publicUrl();
      // A stock agent would put ours in its own place, where nothing of ours could start.
      const isOfUse = agent.resolution.kind === "address" || !isStockAgent(context.requestHeader);
      const agentUpdateInfo = isOfUse ? updateInfo(agent, publicUrl) : undefined;
      const viamServerUpdateInfo = updateInfo(server, publicUrl);
      return {
        checkInterval: durationFromMs(CHECK_INTERVAL_MS),
        ...(agentUpdateInfo ? { agentUpdateInfo } : {}),
        ...(viamServerUpdateInfo ? { viamServerUpdateInfo } : {}),
        advancedSettings: settingsSection(config, "advanced_settings"),
        networkConfiguration: settingsSection(config, "network_configuration"),
        additionalNetworks: settingsSection(config, "additional_networks"),
        systemConfiguration: settingsSection(config, "system_configuration"),
      };
    },
  };
}

/**
 * Names by which agents of the family link and start the programs. They add `.exe` on Windows by
 * themselves; ours do not read the name.
 */
const LINK_NAMES: Readonly<Record<Program, string>> = {
  "machine-agent": "viam-agent",
  "machine-server": "viam-server",
};

/** Agents of the family are made with Go, and none of ours is. */
function isStockAgent(header: Headers): boolean {
  return header.get("user-agent")?.includes("grpc-go/") ?? false;
}

/** Undefined: there is nothing to install; agents of the family take an empty one for an error. */
function updateInfo(
  { program, resolution }: PartTarget,
  publicUrl: string,
): UpdateInfo | undefined {
  const filename = LINK_NAMES[program];
  switch (resolution.kind) {
    case "nothing":
      return undefined;
    case "address":
      return create(UpdateInfoSchema, {
        filename,
        url: resolution.url,
        version: CUSTOM_URL,
        sha256: Uint8Array.fromHex(resolution.sha256),
      });
    case "release": {
      const { release: { version }, file } = resolution;
      return create(UpdateInfoSchema, {
        filename,
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
