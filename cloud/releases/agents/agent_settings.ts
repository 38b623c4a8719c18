import type { JsonObject } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import {
  advancedSettingsFields,
  type AgentFieldTable,
  networkConfigurationFields,
  systemConfigurationFields,
} from "../../../shared/config/agent_fields.ts";

export type SettingsSection =
  | "advanced_settings"
  | "network_configuration"
  | "additional_networks"
  | "system_configuration";

const FIELDS: Partial<Record<SettingsSection, AgentFieldTable>> = {
  advanced_settings: advancedSettingsFields,
  network_configuration: networkConfigurationFields,
  system_configuration: systemConfigurationFields,
};

/**
 * One section of a configuration's `agent` object, as it was saved. A field that the programs of
 * the family call differently is there under both names, so that every agent finds it.
 */
export function settingsSection(config: JsonObject, section: SettingsSection): JsonObject {
  const { agent } = config;
  const value = isJsonObject(agent) ? agent[section] : undefined;
  return isJsonObject(value) ? withBothNames(value, FIELDS[section] ?? {}) : {};
}

function withBothNames(section: JsonObject, fields: AgentFieldTable): JsonObject {
  const result = { ...section };
  for (const [name, { alias }] of Object.entries(fields)) {
    if (alias === undefined) continue;
    const value = section[name] ?? section[alias];
    if (value !== undefined) result[name] = result[alias] = value;
  }
  return result;
}
