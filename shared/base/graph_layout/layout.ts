/** A graph of what needs what, laid out in layers. Pure. */

/** One resource and what it depends on. */
export interface GraphNode {
  /** Full name: `rdk:component:sensor/s`. */
  readonly key: string;
  /** As in the status: ready, unhealthy, … */
  readonly state: string;
  /** Full names. */
  readonly dependencies: readonly string[];
  /** What it uses when it is there; full names. */
  readonly optional?: readonly string[];
}

/** A resource with its place; a name that is only depended on has the state `missing`. */
export interface PlacedNode {
  readonly key: string;
  readonly state: string;
  /** 0: it needs nothing; else one more than the highest layer among its dependencies. */
  readonly layer: number;
  /** Place within its layer, from 0. */
  readonly order: number;
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly optional: boolean;
}

export interface Layout {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly Edge[];
  readonly layers: number;
}

/** Sweeps that move nodes next to what they are connected with. */
const SWEEPS = 4;

/** Puts each resource right of all it needs, near to it. A circle is cut where it is entered. */
export function layOut(graph: readonly GraphNode[]): Layout {
  const nodes = withMissing(graph);
  const layerOf = layersOf(nodes);
  const layers: string[][] = [];
  for (const key of nodes.keys()) (layers[layerOf.get(key)!] ??= []).push(key);
  const edges = [...nodes.values()].flatMap(({ key: from, dependencies, optional = [] }) => [
    ...dependencies.map((to) => ({ from, to, optional: false })),
    ...optional.map((to) => ({ from, to, optional: true })),
  ]);
  const orders = orderLayers(layers, edges);
  return {
    nodes: [...nodes.values()].map(({ key, state }) => ({
      key,
      state,
      layer: layerOf.get(key)!,
      order: orders.get(key)!,
    })),
    edges,
    layers: layers.length,
  };
}

function withMissing(graph: readonly GraphNode[]): Map<string, GraphNode> {
  const nodes = new Map(graph.map((node) => [node.key, node]));
  for (const node of graph) {
    for (const key of needsOf(node)) {
      if (!nodes.has(key)) nodes.set(key, { key, state: "missing", dependencies: [] });
    }
  }
  return nodes;
}

function needsOf({ dependencies, optional = [] }: GraphNode): string[] {
  return [...dependencies, ...optional];
}

function layersOf(nodes: ReadonlyMap<string, GraphNode>): Map<string, number> {
  const layers = new Map<string, number>();
  const entered = new Set<string>();
  for (const start of nodes.keys()) {
    // Not recursive: a chain may be thousands long.
    const stack = [start];
    while (stack.length > 0) {
      const key = stack.at(-1)!;
      const needs = needsOf(nodes.get(key)!);
      const open = layers.has(key) || entered.has(key)
        ? []
        : needs.filter((need) => !layers.has(need) && !entered.has(need));
      entered.add(key);
      if (open.length > 0) {
        stack.push(...open);
        continue;
      }
      stack.pop();
      if (layers.has(key)) continue;
      layers.set(key, Math.max(-1, ...needs.map((need) => layers.get(need) ?? -1)) + 1);
    }
  }
  return layers;
}

function orderLayers(
  layers: readonly string[][],
  edges: readonly Edge[],
): Map<string, number> {
  const neighbours = new Map<string, string[]>();
  const connect = (a: string, b: string) => neighbours.set(a, [...neighbours.get(a) ?? [], b]);
  for (const { from, to } of edges) {
    connect(from, to);
    connect(to, from);
  }
  const orders = new Map<string, number>();
  const number = (layer: readonly string[]) => layer.forEach((key, i) => orders.set(key, i));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const wish = new Map(layer.map((key) => {
        const places = (neighbours.get(key) ?? []).map((other) => orders.get(other)!);
        const mean = places.reduce((a, b) => a + b, 0) / places.length;
        return [key, places.length === 0 ? orders.get(key)! : mean];
      }));
      number(layer.sort((a, b) => wish.get(a)! - wish.get(b)!));
    }
  }
  return orders;
}
