import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AgentService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { Presence } from "../../fleet/presence/presence.ts";
import { toReleaseKey, toTarget } from "../catalogue/release_messages.ts";
import type { ReleaseCatalogue } from "../catalogue/release_catalogue.ts";
import type { AgentCommands } from "./agent_commands.ts";
import type { AgentStatuses } from "./agent_statuses.ts";
import type { PartTargets } from "./part_targets.ts";
import type { ReleaseOutcomes } from "./release_outcomes.ts";
import type { VersionHistory } from "./version_history.ts";

export interface CloudAgentServiceOptions {
  readonly callers: Callers;
  readonly presence: Presence;
  readonly targets: PartTargets;
  readonly catalogue: ReleaseCatalogue;
  readonly statuses: AgentStatuses;
  readonly outcomes: ReleaseOutcomes;
  readonly versions: VersionHistory;
  readonly commands: AgentCommands;
  readonly publicUrl: () => string;
}

/** `machine.cloud.v1.AgentService`: what our agent asks beyond the public API. */
export function cloudAgentService(
  options: CloudAgentServiceOptions,
): ServiceImpl<typeof AgentService> {
  const { callers, presence, targets, catalogue, statuses, outcomes, versions, commands } = options;
  return {
    async getTargets({ partId, platform: told, agentInstalled, serverInstalled }, context) {
      const part = await (await callers.scope(context)).part(partId, "report");
      if (told !== "") presence.learned(part.id, { platform: told });
      const platform = told || presence.of(part.id).facts.platform || "";
      const { agent, server } = await targets.of(part, {
        platform,
        installed: {
          "machine-agent": agentInstalled || statuses.installed(part.id, "machine-agent"),
          "machine-server": serverInstalled || statuses.installed(part.id, "machine-server"),
        },
      });
      const place = { platform, publicUrl: options.publicUrl() };
      return {
        agent: toTarget(agent.program, agent.selector, agent.resolution, place),
        server: toTarget(server.program, server.selector, server.resolution, place),
        keys: (await catalogue.read()).keys.map(toReleaseKey),
      };
    },

    async reportAgentStatus({ partId, status }, context) {
      const part = await (await callers.scope(context)).part(partId, "report");
      if (!status) throw new ConnectError("status: it is missing", Code.InvalidArgument);
      const kept = statuses.report(part.id, status);
      presence.learned(part.id, {
        ...(kept.agent?.running ? { agentVersion: kept.agent.running } : {}),
        ...(kept.platform ? { platform: kept.platform } : {}),
      });
      await versions.note(part.id, kept);
      await outcomes.note(part, kept);
      return { commands: await commands.waiting(part.id, status.finishedCommands) };
    },
  };
}
