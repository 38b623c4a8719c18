import { entriesOf } from "./diff.ts";
import { isObject, isSame, type JsonObject, type JsonValue } from "./json.ts";

/** Two people's changes put together. */
export interface Merged {
  readonly config: JsonObject;
  /** Paths that both changed, each in another way; `config` has mine there. */
  readonly conflicts: readonly string[];
}

/** Merges two changes of the same configuration, entry by entry and value by value. */
export function merge(base: JsonObject, mine: JsonObject, theirs: JsonObject): Merged {
  const conflicts: string[] = [];
  const config: JsonObject = {};
  for (const section of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const lists = [base, mine, theirs].map((config) => entriesOf(config, section));
    const [b, m, t] = lists;
    const value = b && m && t
      ? mergedEntries(section, { b, m, t }, conflicts)
      : mergedValue(section, base[section], mine[section], theirs[section], conflicts);
    if (value === undefined) continue;
    const isEmpty = Array.isArray(value) && value.length === 0;
    if (isEmpty && mine[section] === undefined && theirs[section] === undefined) continue;
    config[section] = value;
  }
  return { config, conflicts };
}

type Entries = ReadonlyMap<string, JsonValue>;

function mergedEntries(
  section: string,
  { b, m, t }: { readonly b: Entries; readonly m: Entries; readonly t: Entries },
  conflicts: string[],
): JsonValue[] {
  const merged: JsonValue[] = [];
  for (const name of new Set([...m.keys(), ...t.keys()])) {
    const path = `${section}.${name}`;
    const value = mergedValue(path, b.get(name), m.get(name), t.get(name), conflicts);
    if (value !== undefined) merged.push(value);
  }
  return merged;
}

function mergedValue(
  path: string,
  base: JsonValue | undefined,
  mine: JsonValue | undefined,
  theirs: JsonValue | undefined,
  conflicts: string[],
): JsonValue | undefined {
  if (isSame(mine, theirs) || isSame(base, theirs)) return mine;
  if (isSame(base, mine)) return theirs;
  if (!isObject(mine) || !isObject(theirs)) {
    conflicts.push(path);
    return mine;
  }
  const from = isObject(base) ? base : {};
  const merged: JsonObject = {};
  for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const value = mergedValue(`${path}.${name}`, from[name], mine[name], theirs[name], conflicts);
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}
