/**
 * Descriptions of a model's attributes: they check the configuration and give the JSON Schema
 * that `-dump-resources` prints. Small on purpose; the checks run before the server is ready.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { formatGoDuration, parseGoDuration } from "../../../shared/base/time/duration.ts";

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
  /**
   * @param warn notified of what is taken otherwise than it is written. Default: nobody is.
   * @throws {AttributeError}
   */
  parse(value: JsonValue | undefined, path: string, warn?: Warn): T;
}

/** Takes a sentence about a value. */
export type Warn = (message: string) => void;

/** A model's attributes as a whole. */
export interface Attributes<T> {
  readonly schema: JsonObject;
  /**
   * @param warn notified of values that are taken otherwise than they are written.
   * @returns the typed attributes and the names of keys nobody reads.
   * @throws {AttributeError}
   */
  parse(value: JsonObject, warn?: Warn): { attributes: T; unknown: string[] };
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

/** A string, which may be empty. */
export function anyText(description: string): Check<string> {
  return {
    schema: { type: "string", description },
    parse(value, path) {
      if (typeof value === "string") return value;
      throw new AttributeError(path, describe(value), "a string");
    },
  };
}

/** Bounds of a number, both included; without one it is open on that side. */
export interface Bounds {
  readonly min?: number;
  readonly max?: number;
  /**
   * True: what lies outside becomes the nearest bound, with a warning. For attributes of which other
   * programs of the family take any number, so that configurations can be copied. Default false.
   */
  readonly clamp?: boolean;
}

/** A number. */
export function number(description: string, bounds: Bounds = {}): Check<number> {
  return numeric("number", "a number", description, bounds);
}

/** A whole number. */
export function integer(description: string, bounds: Bounds = {}): Check<number> {
  return numeric("integer", "a whole number", description, bounds);
}

/** True or false. */
export function boolean(description: string): Check<boolean> {
  return {
    schema: { type: "boolean", description },
    parse(value, path) {
      if (typeof value === "boolean") return value;
      throw new AttributeError(path, describe(value), "true or false");
    },
  };
}

/** One of some texts. */
export function oneOf<const T extends string>(
  values: readonly T[],
  description: string,
): Check<T> {
  return {
    schema: { type: "string", enum: [...values], description },
    parse(value, path) {
      const found = values.find((candidate) => candidate === value);
      if (found !== undefined) return found;
      const allowed = values.map((candidate) => `"${candidate}"`).join(", ");
      throw new AttributeError(path, describe(value), `one of ${allowed}`);
    },
  };
}

/** A span of time in Go's text form ("1m30s"); the bounds and the result are milliseconds. */
export function duration(description: string, bounds: Bounds = {}): Check<number> {
  const limits = describeBounds(bounds, formatGoDuration);
  return {
    schema: { type: "string", description },
    parse(value, path) {
      const ms = typeof value === "string" ? durationOrNaN(value) : NaN;
      if (isWithin(ms, bounds)) return ms;
      const allowed = `a duration${limits}, for example "500ms" or "1m30s"`;
      throw new AttributeError(path, describe(value), allowed);
    },
  };
}

/** An object whose values all pass `entry`. */
export function mapOf<T>(entry: Check<T>, description: string): Check<Record<string, T>> {
  return {
    schema: { type: "object", additionalProperties: entry.schema, description },
    parse(value, path, warn) {
      if (!isJsonObject(value)) throw new AttributeError(path, describe(value), "an object");
      return Object.fromEntries(
        Object.entries(value).map((
          [key, item],
        ) => [key, entry.parse(item, `${path}.${key}`, warn)]),
      );
    },
  };
}

/**
 * A check whose value is converted further.
 *
 * @param convert gives undefined for what does not fit.
 * @param allowed what fits, as the error says it.
 */
export function converted<T, U>(
  check: Check<T>,
  allowed: string,
  convert: (value: T) => U | undefined,
): Check<U> {
  return {
    schema: check.schema,
    parse(value, path, warn) {
      const result = convert(check.parse(value, path, warn));
      if (result !== undefined) return result;
      throw new AttributeError(path, describe(value), allowed);
    },
  };
}

/** An array whose entries all pass `entry`. */
export function listOf<T>(entry: Check<T>, description: string): Check<T[]> {
  return {
    schema: { type: "array", items: entry.schema, description },
    parse(value, path, warn) {
      if (!Array.isArray(value)) throw new AttributeError(path, describe(value), "an array");
      return value.map((item, index) => entry.parse(item, `${path}[${index}]`, warn));
    },
  };
}

/** An object with the given keys; keys beyond them are let be. */
export function objectOf<T>(
  checks: { readonly [K in keyof T]: Check<T[K]> },
  description: string,
): Check<T> {
  const inner = attributes<T>(checks);
  return {
    schema: { ...inner.schema, description },
    parse(value, path, warn) {
      if (!isJsonObject(value)) throw new AttributeError(path, describe(value), "an object");
      const parsed: Partial<T> = {};
      for (const key in checks) parsed[key] = checks[key].parse(value[key], `${path}.${key}`, warn);
      return parsed as T;
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

/**
 * The same check for an attribute that may be left out. Null counts as left out, and so does an
 * empty text that the check does not take: pages that make configurations write both.
 */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return {
    schema: check.schema,
    optional: true,
    parse(value, path, warn) {
      if (value === undefined || value === null) return undefined;
      return value === "" ? whereTaken(check, value, path) : check.parse(value, path, warn);
    },
  };
}

/** The same for a number of which 0 means as much as leaving it out. */
export function optionalOrZero(check: Check<number>): Check<number | undefined> {
  const inner = optional(check);
  return {
    ...inner,
    schema: { ...inner.schema, minimum: 0 },
    parse: (value, path, warn) => value === 0 ? undefined : inner.parse(value, path, warn),
  };
}

function whereTaken<T>(check: Check<T>, value: JsonValue, path: string): T | undefined {
  try {
    return check.parse(value, path);
  } catch (error) {
    if (error instanceof AttributeError) return undefined;
    throw error;
  }
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
    parse(value, warn) {
      const parsed: Record<string, unknown> = {};
      for (const [key, check] of entries) {
        parsed[key] = check.parse(value[key], `attributes.${key}`, warn);
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

function numeric(
  type: "number" | "integer",
  kind: string,
  description: string,
  bounds: Bounds,
): Check<number> {
  const { min, max } = bounds;
  const limits = describeBounds(bounds, String);
  return {
    schema: {
      type,
      ...(min !== undefined && { minimum: min }),
      ...(max !== undefined && { maximum: max }),
      description,
    },
    parse(value, path, warn) {
      const fits = typeof value === "number" && (type === "number" || Number.isInteger(value));
      if (fits && isWithin(value, bounds)) return value;
      if (fits && bounds.clamp) {
        const taken = value < (min ?? -Infinity) ? min! : max!;
        warn?.(`${path}: found ${describe(value)}, allowed: ${kind}${limits}; ${taken} is used`);
        return taken;
      }
      throw new AttributeError(path, describe(value), kind + limits);
    },
  };
}

function isWithin(value: number, { min = -Infinity, max = Infinity }: Bounds): boolean {
  return value >= min && value <= max;
}

function describeBounds({ min, max }: Bounds, show: (value: number) => string): string {
  if (min !== undefined && max !== undefined) return ` from ${show(min)} to ${show(max)}`;
  if (min !== undefined) return ` of at least ${show(min)}`;
  return max === undefined ? "" : ` of at most ${show(max)}`;
}

function durationOrNaN(text: string): number {
  try {
    return parseGoDuration(text);
  } catch {
    return NaN; // the caller says what is allowed
  }
}

function describe(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (isJsonObject(value)) return "an object";
  const shown = JSON.stringify(value);
  return shown.length > 60 ? `${shown.slice(0, 60)}…` : shown;
}
