import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, sameJson } from "../../../shared/base/json/json.ts";
import { readImports } from "../fragments/fragment_import.ts";
import { FragmentProblem } from "../fragments/fragment_problem.ts";
import { isPrefixed } from "../fragments/prefix.ts";
import {
  DEEPEST_NESTING,
  type FragmentLookup,
  type FragmentSource,
  type Resolved,
} from "../fragments/resolve.ts";
import { fillVariables } from "../fragments/variables.ts";

/** Paths that are reported of one part; the rest are left out. */
const TOLD_PATHS = 50;

/** The prefixes of a fragment and of those around it, the outermost first; without empty ones. */
export type Prefixes = readonly string[];

/**
 * The prefixes under which a configuration includes a fragment, directly or within others. Where
 * those cannot be read: as if it were included directly, without a prefix.
 */
export function prefixesOf(
  fragmentId: string,
  config: JsonObject,
  lookup: FragmentLookup,
): Prefixes[] {
  const walk = (at: JsonObject, depth: number): Prefixes[] =>
    readImports(at).flatMap(({ id, version, prefix, variables }): Prefixes[] => {
      const own = prefix === "" ? [] : [prefix];
      if (id === fragmentId) return [own];
      if (depth >= DEEPEST_NESTING) return [];
      try {
        const inner = fillVariables(lookup({ id, version }).config, variables, id);
        return walk(inner, depth + 1).map((prefixes) => [...own, ...prefixes]);
      } catch (error) {
        if (error instanceof FragmentProblem) return [];
        throw error;
      }
    });
  const found = walk(config, 1);
  return found.length === 0 ? [[]] : found;
}

/**
 * Where a resolved configuration does not say what a fragment in it says: values that the part or
 * another fragment sets otherwise or adds to an entry, and entries that are taken away. What
 * variables stand for is the part's to say.
 *
 * @param includedAs from {@link prefixesOf}
 */
export function driftOf(
  fragment: Pick<FragmentSource, "config">,
  { config }: Pick<Resolved, "config">,
  includedAs: readonly Prefixes[] = [[]],
): string[] {
  const paths: string[] = [];
  for (const [section, value] of Object.entries(fragment.config)) {
    if (section === "fragments" || section === "fragment_mods") continue;
    const now = own(config, section);
    if (!Array.isArray(value)) collect(value, now, { path: section, paths, prefixes: [] });
    else {
      for (const item of value) {
        for (const prefixes of isPrefixed(section) ? includedAs : [[]]) {
          collectEntry(item, now, { path: section, paths, prefixes });
        }
      }
    }
  }
  return [...new Set(paths)].slice(0, TOLD_PATHS);
}

interface Place {
  readonly path: string;
  readonly paths: string[];
  readonly prefixes: Prefixes;
  /** Whether keys that the fragment does not have are another's. */
  readonly isEntry?: boolean;
}

function collectEntry(item: JsonValue, now: JsonValue | undefined, place: Place): void {
  const key = nameKey(item);
  if (!isJsonObject(item) || key === undefined) return;
  const name = [...place.prefixes, item[key]].join("-");
  const path = `${place.path}.${name}`;
  const list = Array.isArray(now) ? now.filter(isJsonObject) : [];
  const found = list.find((other) => other[key] === name);
  if (!found) place.paths.push(path);
  else collect({ ...item, [key]: name }, found, { ...place, path, isEntry: true });
}

function collect(said: JsonValue, is: JsonValue | undefined, place: Place): void {
  if (isJsonObject(said) && "$variable" in said) return;
  const { path, paths, prefixes, isEntry = false } = place;
  if (isJsonObject(said) && isJsonObject(is)) {
    const added = isEntry ? Object.keys(is).filter((key) => !Object.hasOwn(said, key)) : [];
    for (const key of [...Object.keys(said), ...added]) {
      if (added.includes(key)) paths.push(`${path}.${key}`);
      else collect(said[key] ?? null, own(is, key), { ...place, path: `${path}.${key}` });
    }
    return;
  }
  if (Array.isArray(said) && Array.isArray(is) && said.length === is.length) {
    const inside: string[] = [];
    said.forEach((item, i) => collect(item, is[i], { ...place, paths: inside }));
    if (inside.length > 0) paths.push(path);
    return;
  }
  if (typeof said === "string" && typeof is === "string" && isRenamed(said, is, prefixes)) return;
  if (!sameJson(said, is)) paths.push(path);
}

/** Names of resources within an entry get prefixes too: of all fragments around, or of some. */
function isRenamed(said: string, is: string, prefixes: Prefixes): boolean {
  const at = said.lastIndexOf("/") + 1;
  return prefixes.some((_, i) =>
    [said.slice(0, at) + prefixes.slice(0, i + 1).join("-"), said.slice(at)].join("-") === is ||
    [said.slice(0, at) + prefixes.slice(i).join("-"), said.slice(at)].join("-") === is
  );
}

/** What distinguishes an entry; a process has an id and the name of a program. */
function nameKey(item: JsonValue): "id" | "name" | undefined {
  if (!isJsonObject(item)) return undefined;
  if (typeof item["id"] === "string") return "id";
  return typeof item["name"] === "string" ? "name" : undefined;
}

function own(holder: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}
