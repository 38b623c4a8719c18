import { isJsonObject } from "../../shared/base/json/json.ts";
import { referenced } from "../../shared/registry/model_schema.ts";
import type { JsonSchema } from "./schema.ts";

/** Schemas of others may refer to themselves, or to the same one very often. */
const DEEPEST = 12;
const MOST_SCHEMAS = 2_000;

/**
 * A schema as forms read it: references are replaced by what they lead to, and a choice between
 * something and null is that something. What is too deep, or too much, is left without a schema.
 */
export function formSchema(root: unknown): JsonSchema {
  let left = MOST_SCHEMAS;
  const simple = (given: unknown, depth: number): JsonSchema => {
    if (depth > DEEPEST || left-- <= 0) return {};
    const schema = plain(root, given);
    const { properties, items, additionalProperties, anyOf, ...rest } = schema;
    const all = (map: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(map).map(([name, each]) => [name, simple(each, depth + 1)]),
      );
    return {
      ...rest,
      ...(isJsonObject(properties) ? { properties: all(properties) } : {}),
      ...(isJsonObject(items) ? { items: simple(items, depth + 1) } : {}),
      ...(isJsonObject(additionalProperties)
        ? { additionalProperties: simple(additionalProperties, depth + 1) }
        : typeof additionalProperties === "boolean"
        ? { additionalProperties }
        : {}),
      ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((each) => simple(each, depth + 1)) } : {}),
    } as JsonSchema;
  };
  return simple(root, 0);
}

/** One schema without its reference and without null among its choices. */
function plain(root: unknown, given: unknown): Record<string, unknown> {
  let schema: Record<string, unknown> = isJsonObject(given) ? given : {};
  for (let hops = 0; hops < DEEPEST; hops++) {
    const { $ref, ...own } = schema;
    const target = typeof $ref === "string" ? referenced(root, $ref) : undefined;
    if (isJsonObject(target)) {
      schema = { ...target, ...own };
      continue;
    }
    const only = onlyChoice(own);
    if (!only) return withOneType(own);
    const { anyOf: _, oneOf: __, ...around } = own;
    schema = { ...only, ...around };
  }
  return {};
}

/** The one choice besides null; undefined where there is no choice, or a real one. */
function onlyChoice({ anyOf, oneOf }: Record<string, unknown>) {
  const choices: unknown = anyOf ?? oneOf;
  if (!Array.isArray(choices)) return undefined;
  const others = choices.filter((each) => !(isJsonObject(each) && each["type"] === "null"));
  const [first] = others;
  return others.length === 1 && isJsonObject(first) ? first : undefined;
}

function withOneType(schema: Record<string, unknown>): Record<string, unknown> {
  const { type } = schema;
  if (!Array.isArray(type)) return schema;
  const others = type.filter((each) => each !== "null");
  return others.length === 1 ? { ...schema, type: others[0] } : schema;
}
