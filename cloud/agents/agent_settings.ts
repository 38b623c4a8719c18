import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { versionControlFields } from "../../shared/config/agent_fields.ts";
import { isJsonObject } from "../machines/config_document.ts";

/** A program that the agent installs and keeps up to date. */
export type ManagedProgram = "machine-agent" | "machine-server";

/** A binary to install. */
export interface UpdateTarget {
  /** Name of the link in the agent's folder of binaries. */
  readonly filename: string;
  readonly url: string;
  /** Stands for every version that is chosen by its address. */
  readonly version: "customURL";
}

export type SettingsSection =
  | "advanced_settings"
  | "network_configuration"
  | "additional_networks"
  | "system_configuration";

/** One section of a configuration's `agent` object, as it was saved. */
export function settingsSection(config: JsonObject, section: SettingsSection): JsonObject {
  const value = objectAt(config, "agent")[section];
  return isJsonObject(value) ? value : {};
}

/**
 * The binary that a configuration names by its address. Undefined for versions and channels
 * (`stable`, `dev`, `1.2.3`): a cloud without a release of that name has nothing to install.
 *
 * @param platform the agent's, `linux/amd64`
 */
export function updateTarget(
  config: JsonObject,
  program: ManagedProgram,
  platform: string,
): UpdateTarget | undefined {
  const chosen = chosenVersion(objectAt(objectAt(config, "agent"), "version_control"), program);
  if (typeof chosen !== "string" || !/^(https?|file):\/\//.test(chosen)) return undefined;
  const filename = platform.startsWith("windows") ? `${program}.exe` : program;
  return { filename, url: chosen, version: "customURL" };
}

function chosenVersion(versions: JsonObject, program: ManagedProgram): JsonValue | undefined {
  if (program === "machine-agent") return versions["agent"];
  return versions["machine-server"] ?? versions[versionControlFields["machine-server"].alias];
}

function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isJsonObject(value) ? value : {};
}
