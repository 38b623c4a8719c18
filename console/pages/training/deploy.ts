import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** A model as a machine's configuration names it. */
export interface DeployedModel {
  /** `organization/name` of the package. */
  readonly id: string;
  readonly name: string;
  /** A version, or `latest`. */
  readonly version: string;
}

/**
 * The configuration with the model among its packages. An entry of the same package gets the version
 * and keeps the rest; else one is added, under a name that is free.
 */
export function withModel(config: JsonObject, { id, name, version }: DeployedModel): JsonObject {
  const entries = Array.isArray(config["packages"]) ? config["packages"] : [];
  const at = entries.findIndex((entry) => isObject(entry) && entry["package"] === id);
  const found = entries[at];
  if (found !== undefined && isObject(found)) {
    return { ...config, packages: entries.with(at, { ...found, version }) };
  }
  const taken = new Set(entries.map((entry) => isObject(entry) ? entry["name"] : undefined));
  let free = name;
  for (let n = 2; taken.has(free); n++) free = `${name}-${n}`;
  const entry = { name: free, package: id, type: "ml_model", version };
  return { ...config, packages: [...entries, entry] };
}

/** The packages of a configuration as the difference shows them. */
export function packagesText(config: JsonObject): string {
  const entries = config["packages"];
  return Array.isArray(entries) && entries.length > 0 ? JSON.stringify(entries, null, 2) : "";
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
