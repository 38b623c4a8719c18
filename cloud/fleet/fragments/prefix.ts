import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";

/** Lists whose entries have a name that must be the machine's only one. */
const NAMED = ["components", "services", "jobs", "triggers", "processes", "remotes"] as const;

/** Whether the names in a section get the prefix of their fragment. */
export function isPrefixed(section: string): boolean {
  return NAMED.some((named) => named === section);
}

/**
 * A copy of a configuration with `prefix-` before the names in it, and wherever one of its resources
 * names another: dependencies, frames, jobs, triggers, and the maintenance sensor. Attributes are
 * left alone; nobody knows which of them are names.
 */
export function withPrefix(config: JsonObject, prefix: string): JsonObject {
  if (prefix === "") return config;
  const names = resourceNames(config);
  const rename = (name: JsonValue | undefined): JsonValue | undefined => {
    if (typeof name !== "string") return name;
    const at = name.lastIndexOf("/") + 1;
    return names.has(name.slice(at)) ? `${name.slice(0, at)}${prefix}-${name.slice(at)}` : name;
  };
  const copy: JsonObject = { ...config };
  for (const section of NAMED) {
    const list = config[section];
    if (Array.isArray(list)) {
      copy[section] = list.map((item) => isJsonObject(item) ? renamed(item, prefix, rename) : item);
    }
  }
  const maintenance = config["maintenance"];
  if (isJsonObject(maintenance)) {
    copy["maintenance"] = replaced(maintenance, "sensor_name", rename);
  }
  return copy;
}

type Rename = (name: JsonValue | undefined) => JsonValue | undefined;

function renamed(item: JsonObject, prefix: string, rename: Rename): JsonObject {
  const key = typeof item["name"] === "string" ? "name" : "id";
  let copy = replaced(item, key, (name) => typeof name === "string" ? `${prefix}-${name}` : name);
  // A process has an id and the name of a program.
  if (typeof item["id"] === "string" && key === "name") {
    copy = { ...item, id: `${prefix}-${item["id"]}` };
  }
  const depends = item["depends_on"];
  if (Array.isArray(depends)) copy["depends_on"] = depends.map((one) => rename(one) ?? one);
  const frame = item["frame"];
  if (isJsonObject(frame)) copy["frame"] = replaced(frame, "parent", rename);
  copy = replaced(copy, "resource", rename);
  const event = item["event"];
  if (isJsonObject(event)) copy["event"] = renamedEvent(event, rename);
  return copy;
}

function renamedEvent(event: JsonObject, rename: Rename): JsonObject {
  const copy = replaced(event, "component_name", rename);
  for (const [key, value] of Object.entries(copy)) {
    if (isJsonObject(value)) copy[key] = renamedEvent(value, rename);
  }
  return copy;
}

function replaced(item: JsonObject, key: string, rename: Rename): JsonObject {
  const value = rename(item[key]);
  return value === undefined ? { ...item } : { ...item, [key]: value };
}

function resourceNames(config: JsonObject): Set<string> {
  const lists = [config["components"], config["services"]];
  return new Set(
    lists.flatMap((list) => Array.isArray(list) ? list : [])
      .flatMap((item) =>
        isJsonObject(item) && typeof item["name"] === "string" ? [item["name"]] : []
      ),
  );
}
