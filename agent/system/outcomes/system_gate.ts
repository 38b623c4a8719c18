import {
  type AgentSettings,
  systemConfigurationFields,
  type SystemSettings,
} from "../../../shared/config/agent_fields.ts";
import { noSystemBecause, type SystemFacts } from "./system_access.ts";
import type { SystemOutcome } from "./system_outcome.ts";

/**
 * Why a part of the system is not configured, whatever its settings say; undefined when it is.
 *
 * @param names of its settings; where they say nothing nobody needs to be notified
 */
export function closedGate(
  settings: AgentSettings,
  names: readonly (keyof SystemSettings)[],
  facts: SystemFacts,
): SystemOutcome | undefined {
  if (settings.advanced_settings.disable_system_configuration) {
    return {
      state: "untouched",
      text: "disable_system_configuration is set: the system is left as it is",
    };
  }
  const because = noSystemBecause(facts);
  if (because === undefined) return undefined;
  const says = names.some((name) =>
    settings.system_configuration[name] !== systemConfigurationFields[name].default
  );
  return { state: says ? "no-effect" : "untouched", text: because };
}
