/**
 * Descriptions of a model's attributes: they check the configuration and give the JSON Schema
 * that `-dump-resources` prints. Small on purpose; the checks run before the server is ready.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Attributes that do not fit. The message names the path, what was found and what is allowed. */
export class AttributeError extends Error {
  override readonly name = "AttributeError";
  constructor(readonly path: string, readonly found: string, readonly allowed: string) {
    super(`${path}: found ${found}, allowed: ${allowed}`);
  }
}

/** Checks one value and says what it accepts. */
export interface Check<T> {
  /** JSON Schema of the value. */
  readonly schema: JsonObject;
  /** True when the attribute may be left out. */
  readonly optional?: boolean;
  /** @throws {AttributeError} */
  parse(value: JsonValue | undefined, path: string): T;
}

/** A model's attributes as a whole. */
export interface Attributes<T> {
  readonly schema: JsonObject;
  /**
   * @returns the typed attributes and the names of keys nobody reads.
   * @throws {AttributeError}
   */
  parse(value: JsonObject): { attributes: T; unknown: string[] };
}

/** A string, not empty. */
export function text(description: string): Check<string> {
  return {
    schema: { type: "string", minLength: 1, description },
    parse(value, path) {
      if (typeof value === "string" && value !== "") return value;
      throw new AttributeError(path, describe(value), "a string that is not empty");
    },
  };
}

/** An array whose entries all pass `entry`. */
export function listOf<T>(entry: Check<T>, description: string): Check<T[]> {
  return {
    schema: { type: "array", items: entry.schema, description },
    parse(value, path) {
      if (!Array.isArray(value)) throw new AttributeError(path, describe(value), "an array");
      return value.map((item, index) => entry.parse(item, `${path}[${index}]`));
    },
  };
}

/** Any JSON object. */
export function anyObject(description: string): Check<JsonObject> {
  return {
    schema: { type: "object", description },
    parse(value, path) {
      if (isJsonObject(value)) return value;
      throw new AttributeError(path, describe(value), "an object");
    },
  };
}

/** The same check for an attribute that may be left out. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return {
    schema: check.schema,
    optional: true,
    parse: (value, path) => value === undefined ? undefined : check.parse(value, path),
  };
}

/** Attributes made of the given keys. */
export function attributes<T>(checks: { readonly [K in keyof T]: Check<T[K]> }): Attributes<T> {
  const entries = Object.entries<Check<unknown>>(checks);
  const known = new Set(entries.map(([key]) => key));
  const required = entries.filter(([, check]) => !check.optional).map(([key]) => key);
  const properties: JsonObject = {};
  for (const [key, check] of entries) properties[key] = check.schema;
  return {
    schema: { type: "object", properties, ...(required.length > 0 && { required }) },
    parse(value) {
      const parsed: Record<string, unknown> = {};
      for (const [key, check] of entries) {
        parsed[key] = check.parse(value[key], `attributes.${key}`);
      }
      const unknown = Object.keys(value).filter((key) => !known.has(key));
      return { attributes: parsed as T, unknown };
    },
  };
}

/** Attributes of a model that accepts anything and reads nothing. */
export const anyAttributes: Attributes<JsonObject> = {
  schema: { type: "object" },
  parse: (value) => ({ attributes: value, unknown: [] }),
};

function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (isJsonObject(value)) return "an object";
  const shown = JSON.stringify(value);
  return shown.length > 60 ? `${shown.slice(0, 60)}…` : shown;
}
