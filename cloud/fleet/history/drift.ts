import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, sameJson } from "../../../shared/base/json/json.ts";
import type { FragmentSource, Resolved } from "../fragments/resolve.ts";

/** Paths that are notified of one part; the rest are left out. */
const TOLD_PATHS = 50;

/**
 * Where a resolved configuration does not say what a fragment in it says: values that the part or
 * another fragment sets otherwise, and entries that are taken away. Entries with a prefix count as
 * the fragment's own; what variables stand for is the part's to say.
 */
export function driftOf(fragment: FragmentSource, { config }: Pick<Resolved, "config">): string[] {
  const paths: string[] = [];
  for (const [section, value] of Object.entries(fragment.config)) {
    if (section === "fragments" || section === "fragment_mods") continue;
    const now = Object.hasOwn(config, section) ? config[section] : undefined;
    if (!Array.isArray(value)) collect(value, now, section, paths);
    else {
      for (const item of value) {
        const name = nameOf(item);
        if (name === undefined) continue;
        const found = (Array.isArray(now) ? now : []).filter((other) => {
          const theirs = nameOf(other);
          return theirs === name || theirs?.endsWith(`-${name}`);
        });
        if (found.length === 0) paths.push(`${section}.${name}`);
        for (const one of found) {
          collect(withoutName(item), one, `${section}.${nameOf(one)}`, paths);
        }
      }
    }
  }
  return paths.slice(0, TOLD_PATHS);
}

function collect(said: JsonValue, is: JsonValue | undefined, path: string, paths: string[]): void {
  if (isJsonObject(said) && "$variable" in said) return;
  if (isJsonObject(said) && isJsonObject(is)) {
    for (const [key, value] of Object.entries(said)) {
      collect(value, Object.hasOwn(is, key) ? is[key] : undefined, `${path}.${key}`, paths);
    }
    return;
  }
  // Names in lists get the prefix, too.
  if (Array.isArray(said) && Array.isArray(is) && said.length === is.length) {
    const alike = said.every((item, i) => {
      const other = is[i];
      return sameJson(item, other) ||
        (typeof item === "string" && typeof other === "string" && other.endsWith(`-${item}`)) ||
        isJsonObject(item);
    });
    if (alike) return;
  }
  if (typeof said === "string" && typeof is === "string" && is.endsWith(`-${said}`)) return;
  if (!sameJson(said, is)) paths.push(path);
}

function nameOf(item: JsonValue): string | undefined {
  const name = isJsonObject(item) ? item["name"] ?? item["id"] : undefined;
  return typeof name === "string" ? name : undefined;
}

function withoutName(item: JsonValue): JsonObject {
  if (!isJsonObject(item)) return {};
  const { name: _name, id: _id, ...rest } = item;
  return rest;
}
