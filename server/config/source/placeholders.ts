/** Values from the environment and places of packages in configurations. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { PackageFolder } from "../../modules/packages/package_types.ts";

/** Reads a variable. */
export type ReadVariable = (name: string) => string | undefined;

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const VARIABLE_PLACEHOLDER = /\$\{environment\.([A-Za-z_][A-Za-z0-9_]*)\}/g;
const PACKAGE_PLACEHOLDER = /\$\{packages\.([^{}$]+)\}/g;

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

/** Where a package lies, or why it doesn't yet; undefined when the configuration has none such. */
export type FindPackage = (type: string, name: string) => PackageFolder | undefined;

/** What placeholders stand for. */
export interface PlaceholderSources {
  readonly read: ReadVariable;
  readonly findPackage: FindPackage;
}

/** A value with its placeholders filled in, and what is to be said of them. */
export interface Resolved<T> {
  readonly value: T;
  /** Variables that are not set; their placeholders stay. */
  readonly missing: readonly string[];
  /** A package that is on its way. */
  readonly pending: string | undefined;
  /** A package that is not there and won't come by waiting. */
  readonly problem: string | undefined;
}

/**
 * Fills in `${environment.NAME}`, `${packages.TYPE.NAME}` and `${packages.NAME}` (an ml_model) in
 * every string of a value. While a newer version of a package is on its way its older one is used.
 */
export function resolvePlaceholders<T extends JsonValue>(
  value: T,
  sources: PlaceholderSources,
): Resolved<T> {
  const missing = new Set<string>();
  let pending: string | undefined;
  let problem: string | undefined;
  const folder = (whole: string, path: string): string => {
    const dot = path.indexOf(".");
    const [type, name] = dot === -1
      ? ["ml_model", path]
      : [path.slice(0, dot), path.slice(dot + 1)];
    const found = sources.findPackage(type, name);
    if (found && "path" in found) return found.path;
    if (found?.previous) return found.previous;
    if (!found) problem ??= `there is no package ${name} of type ${type} in the configuration`;
    else if ("pending" in found) pending ??= `waiting for package ${name}: ${found.pending}`;
    else problem ??= `package ${name}: ${found.problem}`;
    return whole;
  };
  const resolveText = (text: string) =>
    text.replace(VARIABLE_PLACEHOLDER, (whole, name: string) => {
      const value = sources.read(name);
      if (value === undefined) missing.add(name);
      return value ?? whole;
    }).replace(PACKAGE_PLACEHOLDER, folder);
  const resolve = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return value.includes("${") ? resolveText(value) : value;
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner)]));
  };
  return { value: resolve(value) as T, missing: [...missing], pending, problem };
}
