/** What a configuration file is: the way to a cloud, or the configuration itself. Pure. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";

/** Keys that make a file a full configuration. */
const RESOURCE_KEYS = [
  "components",
  "services",
  "modules",
  "remotes",
  "processes",
  "packages",
  "jobs",
] as const;

/** `cloud`: the file says where the configuration is; `local`: the file is the configuration. */
export type ConfigMode = "cloud" | "local";

/** A file with a `cloud` block and no resources of its own belongs to a cloud. */
export function configMode(json: JsonObject): ConfigMode {
  if (!isJsonObject(json["cloud"])) return "local";
  return RESOURCE_KEYS.some((key) => isFilled(json[key])) ? "local" : "cloud";
}

/** `network.bind_address` of a file, which wins over the cloud's; undefined where it has none. */
export function localBindAddress(json: JsonObject): string | undefined {
  const network = json["network"];
  const address = isJsonObject(network) ? network["bind_address"] : undefined;
  return typeof address === "string" && address !== "" ? address : undefined;
}

/** `cloud.refresh_interval` of a file; undefined where it has none. */
export function refreshInterval(json: JsonObject): string | undefined {
  const cloud = json["cloud"];
  const interval = isJsonObject(cloud) ? cloud["refresh_interval"] : undefined;
  return typeof interval === "string" && interval !== "" ? interval : undefined;
}

/** `cloud.app_address` of a file; undefined where it has none. */
export function appAddress(json: JsonObject): string | undefined {
  const cloud = json["cloud"];
  const address = isJsonObject(cloud) ? cloud["app_address"] : undefined;
  return typeof address === "string" && URL.canParse(address) ? address : undefined;
}

function isFilled(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
}
