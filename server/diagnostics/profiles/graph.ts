/** The graph of resources as DOT. Pure. */
import type { GraphNode } from "../../../shared/base/graph_layout/layout.ts";

/** Colours by state, for both forms. */
const STATE_COLOURS: Readonly<Record<string, string>> = {
  ready: "#d4f4dd",
  configuring: "#fff3bf",
  unconfigured: "#eeeeee",
  removing: "#e9d8fd",
  unhealthy: "#ffd6d6",
};

/** The graph in the language of Graphviz; an edge points from a resource to what it needs. */
export function toDot(nodes: readonly GraphNode[]): string {
  const lines = nodes.flatMap(({ key, state, dependencies, optional = [] }) => [
    `  ${quote(key)} [label=${quote(`${key}\n${state}`)}, style=filled, ` +
    `fillcolor=${quote(colourOf(state))}];`,
    ...dependencies.map((to) => `  ${quote(key)} -> ${quote(to)};`),
    ...optional.map((to) => `  ${quote(key)} -> ${quote(to)} [style=dashed];`),
  ]);
  return ["digraph resources {", "  rankdir=LR;", "  node [shape=box];", ...lines, "}", ""]
    .join("\n");
}

export function colourOf(state: string): string {
  return STATE_COLOURS[state] ?? "#ffffff";
}

function quote(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped}"`;
}
