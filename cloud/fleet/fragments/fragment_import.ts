import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { FragmentProblem } from "./fragment_problem.ts";

/** A fragment that a configuration, or another fragment, includes. */
export interface FragmentImport {
  readonly id: string;
  /** Revision or tag; empty: the newest revision. */
  readonly version: string;
  /** Put with `-` before the names of its resources; empty: none. */
  readonly prefix: string;
  readonly variables: JsonObject;
}

/** One step of `fragment_mods`. */
export interface FragmentMod {
  readonly fragmentId: string;
  readonly operator: "$set" | "$unset";
  /** `components.motor1.attributes.x`. */
  readonly path: string;
  readonly value: JsonValue;
}

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/;

/**
 * What a configuration includes, in its order; entries with `disabled: true` are left out.
 *
 * @throws {FragmentProblem} at an entry that is none, and at one fragment twice without a prefix
 */
export function readImports(config: JsonObject): FragmentImport[] {
  const list = config["fragments"];
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new FragmentProblem("invalid", "", "fragments: must be a list");
  const imports = list.flatMap((entry, i) => readImport(entry, `fragments[${i}]`));
  const seen = new Set<string>();
  for (const { id, prefix } of imports) {
    const key = `${id} ${prefix}`;
    if (seen.has(key)) {
      const detail = `fragments: ${id} is included twice; give each another prefix`;
      throw new FragmentProblem("invalid", id, detail);
    }
    seen.add(key);
  }
  return imports;
}

function readImport(entry: JsonValue, at: string): FragmentImport[] {
  if (typeof entry === "string" && entry !== "") {
    return [{ id: entry, version: "", prefix: "", variables: {} }];
  }
  if (!isJsonObject(entry)) {
    throw new FragmentProblem("invalid", "", `${at}: must be a fragment's id, or {"id": …}`);
  }
  if (entry["disabled"] === true) return [];
  const id = textAt(entry, "id", at);
  if (id === "") throw new FragmentProblem("invalid", "", `${at}.id: is missing`);
  const prefix = textAt(entry, "prefix", at);
  if (prefix !== "" && !PREFIX.test(prefix)) {
    const allowed = "letters, digits, `-` and `_`, a letter or digit first, 60 characters at most";
    throw new FragmentProblem("invalid", id, `${at}.prefix: allowed are ${allowed}`);
  }
  const variables = entry["variables"] ?? {};
  if (!isJsonObject(variables)) {
    throw new FragmentProblem("invalid", id, `${at}.variables: must be an object`);
  }
  return [{ id, version: textAt(entry, "version", at), prefix, variables }];
}

function textAt(entry: JsonObject, key: string, at: string): string {
  const value = entry[key] ?? "";
  if (typeof value === "string") return value;
  // Revisions are written as numbers, too.
  if (key === "version" && typeof value === "number") return String(value);
  throw new FragmentProblem("invalid", "", `${at}.${key}: must be a text`);
}

/**
 * The steps of `fragment_mods`, in their order.
 *
 * @throws {FragmentProblem} at another operator than `$set` and `$unset`
 */
export function readMods(config: JsonObject): FragmentMod[] {
  const list = config["fragment_mods"];
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) {
    throw new FragmentProblem("invalid", "", "fragment_mods: must be a list");
  }
  return list.flatMap((entry, i) => {
    const at = `fragment_mods[${i}]`;
    const mods = isJsonObject(entry) ? entry["mods"] ?? [] : undefined;
    if (!isJsonObject(entry) || !Array.isArray(mods)) {
      const detail = `${at}: must be {"fragment_id": …, "mods": […]}`;
      throw new FragmentProblem("invalid", "", detail);
    }
    const fragmentId = textAt(entry, "fragment_id", at);
    return mods.flatMap((mod, j) => readSteps(mod, fragmentId, `${at}.mods[${j}]`));
  });
}

function readSteps(mod: JsonValue, fragmentId: string, at: string): FragmentMod[] {
  const steps = isJsonObject(mod) ? Object.entries(mod) : [];
  return steps.flatMap(([operator, paths]) => {
    if (operator !== "$set" && operator !== "$unset") {
      const detail = `${at}: ${operator} is not known; $set and $unset are`;
      throw new FragmentProblem("invalid", fragmentId, detail);
    }
    if (!isJsonObject(paths)) {
      const detail = `${at}.${operator}: must be an object of paths`;
      throw new FragmentProblem("invalid", fragmentId, detail);
    }
    return Object.entries(paths).map(([path, value]) => ({ fragmentId, operator, path, value }));
  });
}
