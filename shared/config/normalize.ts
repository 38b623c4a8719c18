import { BUILTIN_FAMILY, BUILTIN_NAMESPACE } from "./resource_name.ts";
import type { ResourceConfig, ResourceEntry } from "./resources.ts";

/** The list a resource stands in; the type of its API when it does not say. */
export type ResourceKind = "component" | "service";

/** Name and model of a service that has none. */
const SERVICE_DEFAULT = "builtin";

/**
 * Fills in name, API and model of a resource from the short and old forms: `namespace` and `type`
 * in place of `api`, one word or an object in place of a model triplet, a service without name.
 * What cannot be filled in becomes an empty text, what is wrong stays as it is: checks say so.
 */
export function normalizeResource(entry: ResourceEntry, kind: ResourceKind): ResourceConfig {
  const { namespace, type, ...rest } = entry;
  return {
    ...rest,
    name: entry.name || (kind === "service" ? SERVICE_DEFAULT : ""),
    api: entry.api || apiOf(namespace, type, kind),
    model: modelOf(entry.model, kind),
  };
}

function apiOf(
  namespace: string | undefined,
  type: string | undefined,
  kind: ResourceKind,
): string {
  if (!type) return "";
  return type.includes(":") ? type : `${namespace || BUILTIN_NAMESPACE}:${kind}:${type}`;
}

function modelOf(model: ResourceEntry["model"], kind: ResourceKind): string {
  if (typeof model === "object") {
    const { namespace, model_family: family, name } = model;
    return `${namespace || BUILTIN_NAMESPACE}:${family || BUILTIN_FAMILY}:${name}`;
  }
  const text = model || (kind === "service" ? SERVICE_DEFAULT : "");
  return text === "" || text.includes(":")
    ? text
    : `${BUILTIN_NAMESPACE}:${BUILTIN_FAMILY}:${text}`;
}
