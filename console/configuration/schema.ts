import { isObject, type JsonObject, type JsonValue } from "./json.ts";

/** What the console reads of a JSON Schema. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
}

/** A model that resources can have, and what its attributes may be. */
export interface KnownModel {
  readonly api: string;
  readonly model: string;
  /** As forms read it; undefined: nothing is known of them. */
  readonly attributes: JsonSchema | undefined;
  /** As its module brings it, for checks; undefined: `attributes`. */
  readonly checked?: JsonSchema;
}

/** The schema of a value somewhere in a configuration; undefined where nothing is known. */
export function schemaAt(
  root: JsonSchema,
  path: readonly (string | number)[],
  value: JsonValue | undefined,
  models: readonly KnownModel[],
): JsonSchema | undefined {
  let schema: JsonSchema | undefined = root;
  let here = value;
  for (const [at, step] of path.entries()) {
    if (!schema) return undefined;
    const isAttributes = at === 2 && step === "attributes" &&
      (path[0] === "components" || path[0] === "services");
    const of: KnownModel | undefined = isAttributes && isObject(here)
      ? modelOf(here, models)
      : undefined;
    schema = of?.attributes ?? stepInto(schema, step);
    here = Array.isArray(here) && typeof step === "number"
      ? here[step]
      : isObject(here)
      ? here[String(step)]
      : undefined;
  }
  return schema;
}

function stepInto(schema: JsonSchema, step: string | number): JsonSchema | undefined {
  for (const choice of [schema, ...schema.anyOf ?? []]) {
    if (typeof step === "number") {
      if (choice.items) return choice.items;
      continue;
    }
    const property = choice.properties?.[step];
    if (property) return property;
    const others = choice.additionalProperties;
    if (typeof others === "object" && Object.keys(others).length > 0) return others;
  }
  return undefined;
}

/** The API of an entry in its new form, `rdk:component:sensor`; empty when it says none. */
export function apiOfEntry(entry: JsonObject, list: "components" | "services"): string {
  const { api, type, namespace } = entry;
  if (typeof api === "string" && api !== "") return api;
  if (typeof type !== "string" || type === "") return "";
  const kind = list === "components" ? "component" : "service";
  return `${typeof namespace === "string" && namespace !== "" ? namespace : "rdk"}:${kind}:${type}`;
}

/** The model of an entry as `namespace:family:name`; a single word is one of rdk:builtin. */
export function modelOfEntry(entry: JsonObject): string {
  const { model } = entry;
  if (typeof model === "string") {
    return model.includes(":") || model === "" ? model : `rdk:builtin:${model}`;
  }
  if (!isObject(model)) return "";
  const part = (name: string, left: string) => typeof model[name] === "string" ? model[name] : left;
  return `${part("namespace", "rdk")}:${part("model_family", "builtin")}:${part("name", "")}`;
}

/** What is known of the model of an entry. */
export function modelOf(
  entry: JsonObject,
  models: readonly KnownModel[],
): KnownModel | undefined {
  const model = modelOfEntry(entry) || "rdk:builtin:builtin";
  const apis = (["components", "services"] as const).map((list) => apiOfEntry(entry, list));
  return models.find((known) => known.model === model && apis.includes(known.api));
}
