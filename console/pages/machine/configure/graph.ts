import type { GraphNode } from "../../../../shared/base/graph_layout/layout.ts";
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
 * only an attribute names, because which attributes name resources is known to the models alone. A
 * `name` within attributes may be a label, such as that of a pin: it counts for nothing where the
 * resource of that name needs this one.
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
  const found = entries.filter(({ name }) => !seen.has(name) && seen.add(name)).map(
    ({ section, entry, index, name }) => {
      const named = Array.isArray(entry.depends_on) ? entry.depends_on : [];
      const dependencies = [...new Set(named.flatMap((each) => nameIn(each)))]
        .filter((each) => each !== name);
      const texts = [...textsIn(entry.attributes, 0)]
        .map(({ text, isLabel }) => ({ text: shortName(text), isLabel }))
        .filter(({ text }) => text !== name && names.has(text) && !dependencies.includes(text));
      const optional = new Set(texts.filter(({ isLabel }) => !isLabel).map(({ text }) => text));
      const node: DraftNode = {
        key: name,
        state: "",
        api: apiOfEntry(entry, section),
        place: `${section}.${index}`,
        dependencies,
        optional: [...optional],
      };
      return { node, labels: texts.map(({ text }) => text).filter((text) => !optional.has(text)) };
    },
  );
  const needs = new Map(found.map(({ node }) => [node.key, [
    ...node.dependencies,
    ...node.optional ?? [],
  ]]));
  return found.map(({ node, labels }) => ({
    ...node,
    optional: [
      ...node.optional ?? [],
      ...new Set(labels.filter((label) => !doesNeed(label, node.key, needs))),
    ],
  }));
}

/** Whether one resource needs another, itself or by what it needs. */
function doesNeed(
  name: string,
  other: string,
  needs: ReadonlyMap<string, readonly string[]>,
): boolean {
  const seen = new Set([name]);
  for (const each of seen) {
    for (const next of needs.get(each) ?? []) seen.add(next);
  }
  return seen.has(other);
}

function nameIn(value: JsonValue): string[] {
  return typeof value === "string" && value !== "" ? [shortName(value)] : [];
}

/** `s` of `rdk:component:sensor/s`. */
function shortName(text: string): string {
  return /^[\w-]+:(?:component|service):[\w-]+\/(.+)$/.exec(text)?.[1] ?? text;
}

interface NamedText {
  readonly text: string;
  readonly isLabel: boolean;
}

function* textsIn(value: JsonValue | undefined, depth: number, key = ""): Iterable<NamedText> {
  if (typeof value === "string") yield { text: value, isLabel: key === "name" };
  else if (depth < DEEPEST && value !== undefined && value !== null && typeof value === "object") {
    for (const [inner, each] of Object.entries(value)) yield* textsIn(each, depth + 1, inner);
  }
}
