import { registryApi } from "../api/clients.ts";
import { formSchema } from "./form_schema.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { JsonSchema, KnownModel } from "./schema.ts";

/** As many modules as one call may name. */
const MOST_MODULES = 100;

/**
 * The registry's modules in configurations by their ids, in order, each with the version that it
 * wants, empty where it says none. The first configuration that names one decides.
 */
export function registryModules(...configs: readonly JsonObject[]): Record<string, string> {
  const list = configs.flatMap(({ modules }) =>
    Array.isArray(modules) ? modules.filter(isObject) : []
  );
  const wanted = list.flatMap(({ module_id: id, version }) =>
    typeof id === "string" && id !== ""
      ? [[id, typeof version === "string" ? version : ""] as const]
      : []
  );
  const first = new Map(wanted.toReversed());
  return Object.fromEntries(
    [...first].sort(([a], [b]) => a < b ? -1 : 1).slice(0, MOST_MODULES),
  );
}

/** The models of modules of the registry, with what is known of their attributes. */
export async function moduleModels(
  wanted: Readonly<Record<string, string>>,
): Promise<KnownModel[]> {
  const moduleIds = Object.keys(wanted);
  if (moduleIds.length === 0) return [];
  const { models } = await registryApi.listModels({ moduleIds, versions: wanted });
  return models.map(({ api, model, schemaJson }) => {
    if (schemaJson === "") return { api, model, attributes: undefined };
    const checked = JSON.parse(schemaJson) as JsonSchema;
    return { api, model, attributes: formSchema(checked), checked };
  });
}
