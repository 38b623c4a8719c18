import { isObject, type JsonValue } from "../../../configuration/json.ts";

/** From a path on, values come from a fragment, or from the part itself where the id is empty. */
export interface Source {
  readonly path: string;
  readonly fragmentId: string;
}

/** A value of a configuration that holds no others, and where it comes from. */
export interface Leaf {
  /** `components[0].attributes.x`. */
  readonly path: string;
  /** As JSON. */
  readonly value: string;
  /** Empty: the part's own. */
  readonly fragmentId: string;
}

/** All values, each with the source of the longest path that covers it; of two as long the later one. */
export function leaves(config: JsonValue, sources: readonly Source[]): Leaf[] {
  const found: Leaf[] = [];
  const walk = (value: JsonValue, path: string): void => {
    const inner = Array.isArray(value)
      ? value.map((item, at): [string, JsonValue] => [`${path}[${at}]`, item])
      : isObject(value)
      ? Object.entries(value).map(([name, item]): [string, JsonValue] => [
        path === "" ? name : `${path}.${name}`,
        item,
      ])
      : [];
    if (inner.length === 0 && path !== "") {
      found.push({ path, value: JSON.stringify(value), fragmentId: sourceOf(path, sources) });
    }
    for (const [name, item] of inner) walk(item, name);
  };
  walk(config, "");
  return found;
}

function sourceOf(path: string, sources: readonly Source[]): string {
  let best: Source | undefined;
  for (const source of sources) {
    if (!covers(source.path, path)) continue;
    if (!best || source.path.length >= best.path.length) best = source;
  }
  return best?.fragmentId ?? "";
}

function covers(outer: string, path: string): boolean {
  return outer === "" || path === outer ||
    (path.startsWith(outer) && (path[outer.length] === "." || path[outer.length] === "["));
}
