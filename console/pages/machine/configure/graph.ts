import type { GraphNode } from "../../../../shared/base/graph/layout.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../configuration/json.ts";
import { apiOfEntry } from "../../../configuration/schema.ts";

/** A resource of a draft, and what it needs. */
export interface DraftNode extends GraphNode {
  /** `rdk:component:sensor`. */
  readonly api: string;
  /** Its card: `components.0`. */
  readonly place: string;
}

const SECTIONS = ["components", "services"] as const;
const DEEPEST = 12;

/**
 * What the resources of a draft need of one another: what `depends_on` names, and as optional what
 * only an attribute names, because which attributes name resources is known to the models alone.
 */
export function graphOf(config: JsonObject): DraftNode[] {
  const entries = SECTIONS.flatMap((section) => {
    const list = config[section];
    return Array.isArray(list)
      ? list.flatMap((entry, index) =>
        isObject(entry) && typeof entry.name === "string" && entry.name !== ""
          ? [{ section, entry, index, name: entry.name }]
          : []
      )
      : [];
  });
  const names = new Set(entries.map(({ name }) => name));
  const seen = new Set<string>();
  return entries.filter(({ name }) => !seen.has(name) && seen.add(name)).map(
    ({ section, entry, index, name }) => {
      const named = Array.isArray(entry.depends_on) ? entry.depends_on : [];
      const dependencies = [...new Set(named.flatMap((each) => nameIn(each)))]
        .filter((each) => each !== name);
      const optional = [...textsIn(entry.attributes, 0)].map(shortName)
        .filter((text) => text !== name && names.has(text) && !dependencies.includes(text));
      return {
        key: name,
        state: "",
        api: apiOfEntry(entry, section),
        place: `${section}.${index}`,
        dependencies,
        optional: [...new Set(optional)],
      };
    },
  );
}

function nameIn(value: JsonValue): string[] {
  return typeof value === "string" && value !== "" ? [shortName(value)] : [];
}

/** `s` of `rdk:component:sensor/s`. */
function shortName(text: string): string {
  return /^[\w-]+:(?:component|service):[\w-]+\/(.+)$/.exec(text)?.[1] ?? text;
}

function* textsIn(value: JsonValue | undefined, depth: number): Iterable<string> {
  if (typeof value === "string") yield value;
  else if (depth < DEEPEST && value !== undefined && value !== null && typeof value === "object") {
    const inner = Array.isArray(value) ? value : Object.values(value);
    for (const each of inner) yield* textsIn(each, depth + 1);
  }
}
