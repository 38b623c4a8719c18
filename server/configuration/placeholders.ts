/** Values from the environment in configurations. Pure. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Reads a variable. */
export type ReadVariable = (name: string) => string | undefined;

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const PLACEHOLDER = /\$\{environment\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * Puts variables in place of `${NAME}` in the text of a local file, as it is. One that is not set
 * becomes nothing.
 *
 * @returns the text and the names that were not set.
 */
export function substituteVariables(text: string, read: ReadVariable) {
  const missing = new Set<string>();
  const result = text.replace(VARIABLE, (_whole, name: string) => {
    const value = read(name);
    if (value === undefined) missing.add(name);
    return value ?? "";
  });
  return { text: result, missing: [...missing] };
}

/**
 * Puts variables in place of `${environment.NAME}` in the strings of a resource's attributes. One
 * that is not set stays as it is.
 *
 * @returns the attributes and the names that were not set.
 */
export function resolvePlaceholders(attributes: JsonObject, read: ReadVariable) {
  const missing = new Set<string>();
  const resolveText = (text: string) =>
    text.replace(PLACEHOLDER, (whole, name: string) => {
      const value = read(name);
      if (value === undefined) missing.add(name);
      return value ?? whole;
    });
  const resolve = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return value.includes("${") ? resolveText(value) : value;
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner)]));
  };
  return { attributes: resolve(attributes) as JsonObject, missing: [...missing] };
}
