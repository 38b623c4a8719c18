import type { JsonObject } from "@bufbuild/protobuf";
import { isJsonObject } from "../machines/config_document.ts";

export type SettingsSection =
  | "advanced_settings"
  | "network_configuration"
  | "additional_networks"
  | "system_configuration";

/** One section of a configuration's `agent` object, as it was saved. */
export function settingsSection(config: JsonObject, section: SettingsSection): JsonObject {
  const { agent } = config;
  const value = isJsonObject(agent) ? agent[section] : undefined;
  return isJsonObject(value) ? value : {};
}
