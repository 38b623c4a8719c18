import { isJsonObject } from "../base/json/json.ts";

/** Longest schema of a model as JSON text, bytes. */
export const LONGEST_SCHEMA = 64 * 1024;
const DEEPEST = 30;
const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
/** Keywords whose value is a schema, a list of them, or an object with schemas as values. */
const ONE = ["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then"];
const LISTS = ["anyOf", "allOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/**
 * What is wrong with the JSON Schema of a model's attributes, with its path; undefined when nothing
 * is. The schema describes an object, and its references lead into itself.
 */
export function modelSchemaProblem(schema: unknown): string | undefined {
  if (!isJsonObject(schema)) return "it must be a JSON object";
  const size = new TextEncoder().encode(JSON.stringify(schema)).length;
  if (size > LONGEST_SCHEMA) return `it has ${size} bytes; ${LONGEST_SCHEMA} are allowed`;
  const { type } = schema;
  if (type !== undefined && type !== "object") {
    return `type is ${JSON.stringify(type)}; attributes are an "object"`;
  }
  return problemIn(schema, schema, "", 0);
}

function problemIn(root: unknown, schema: unknown, at: string, depth: number): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isJsonObject(schema)) return wrong(at, "must be a schema: an object, true or false");
  if (depth > DEEPEST) return wrong(at, `is deeper than ${DEEPEST} schemas`);
  return ownProblem(root, schema, at) ?? [...innerSchemas(schema, at)].reduce(
    (found: string | undefined, [path, inner]) => found ?? problemIn(root, inner, path, depth + 1),
    undefined,
  );
}

/** What is wrong with a schema's own keywords. */
function ownProblem(
  root: unknown,
  schema: Readonly<Record<string, unknown>>,
  at: string,
): string | undefined {
  const { type, pattern, required, $ref } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type ?? "object"];
  const odd = types.find((each) => typeof each !== "string" || !TYPES.includes(each));
  if (odd !== undefined) {
    return wrong(path(at, "type"), `is ${JSON.stringify(odd)}; allowed are ${TYPES.join(", ")}`);
  }
  if ($ref !== undefined && (typeof $ref !== "string" || referenced(root, $ref) === undefined)) {
    return wrong(path(at, "$ref"), `is ${JSON.stringify($ref)}; it must lead into this schema`);
  }
  if (pattern !== undefined && !isPattern(pattern)) {
    return wrong(path(at, "pattern"), "is no regular expression");
  }
  const areNames = Array.isArray(required) && required.every((name) => typeof name === "string");
  if (required !== undefined && !areNames) return wrong(path(at, "required"), "must list names");
  const broken = [...LISTS, "enum"].find((key) => key in schema && !Array.isArray(schema[key]));
  if (broken !== undefined) return wrong(path(at, broken), "must be a list");
  const map = MAPS.find((key) => key in schema && !isJsonObject(schema[key]));
  return map === undefined ? undefined : wrong(path(at, map), "must be an object");
}

function* innerSchemas(
  schema: Readonly<Record<string, unknown>>,
  at: string,
): Generator<[path: string, schema: unknown]> {
  for (const key of ONE) if (key in schema) yield [path(at, key), schema[key]];
  for (const key of LISTS) {
    const list: unknown = schema[key];
    if (!Array.isArray(list)) continue;
    for (const [index, inner] of list.entries()) yield [`${path(at, key)}[${index}]`, inner];
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (!isJsonObject(map)) continue;
    for (const [name, inner] of Object.entries(map)) yield [path(path(at, key), name), inner];
  }
}

/** The schema that a reference such as `#/$defs/pin` leads to. */
export function referenced(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  let here = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const name = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isJsonObject(here) || !Object.hasOwn(here, name)) return undefined;
    here = here[name];
  }
  return here;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isPattern(pattern: unknown): boolean {
  try {
    return typeof pattern === "string" && new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function path(at: string, key: string): string {
  return at === "" ? key : `${at}.${key}`;
}

function wrong(at: string, reason: string): string {
  return `${at === "" ? "it" : at} ${reason}`;
}
