import { registryApi } from "../api/clients.ts";
import { formSchema } from "./form_schema.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { JsonSchema, KnownModel } from "./schema.ts";

/** As many modules as one call may name. */
const MOST_MODULES = 100;

/** Ids of the registry's modules in configurations, in order and once each. */
export function registryModules(...configs: readonly JsonObject[]): string[] {
  const list = configs.flatMap(({ modules }) =>
    Array.isArray(modules) ? modules.filter(isObject) : []
  );
  const ids = list.flatMap(({ module_id }) =>
    typeof module_id === "string" && module_id !== "" ? [module_id] : []
  );
  return [...new Set(ids)].sort().slice(0, MOST_MODULES);
}

/** The models of modules of the registry, with what is known of their attributes. */
export async function moduleModels(moduleIds: readonly string[]): Promise<KnownModel[]> {
  if (moduleIds.length === 0) return [];
  const { models } = await registryApi.listModels({ moduleIds: [...moduleIds] });
  return models.map(({ api, model, schemaJson }) => {
    if (schemaJson === "") return { api, model, attributes: undefined };
    const checked = JSON.parse(schemaJson) as JsonSchema;
    return { api, model, attributes: formSchema(checked), checked };
  });
}
