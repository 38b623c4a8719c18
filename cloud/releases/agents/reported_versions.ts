import type { Presence } from "../../fleet/presence/presence.ts";
import type { ToldVersions } from "../catalogue/release_service.ts";
import type { AgentStatuses } from "./agent_statuses.ts";

/** What agents reported, as the releases request it. */
export function reportedVersions(
  statuses: AgentStatuses,
  presence: Pick<Presence, "of">,
): ToldVersions {
  return {
    of: (partId, program) => ({
      platform: statuses.of(partId)?.status.platform || presence.of(partId).facts.platform || "",
      installed: statuses.installed(partId, program),
    }),
    partIds: () => statuses.partIds(),
  };
}
