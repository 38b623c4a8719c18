import type { AgentSettings } from "./agent_fields.ts";
import { mergeAgentSettings } from "./agent_settings.ts";

/** The settings when nothing is configured. */
export function defaultAgentSettings(): AgentSettings {
  return mergeAgentSettings([]).settings;
}
