/**
 * Questions about dependencies by name. Pure functions over plain names, so that the cloud asks them
 * of a configuration before it is saved and the server of its running graph.
 */
import { BUILTIN_NAMESPACE, parseResourceName } from "./resource_name.ts";

/** Something that depends on other things. */
export interface DependencyNode {
  /** Unique; for resources the full name `rdk:component:sensor/host`. */
  name: string;
  /** Full or short names of what must be ready first. */
  dependsOn: readonly string[];
}

/** Names that stand for the server's own parts and are no edge of the graph. */
const INTERNAL_NAMES = new Set(["framesystem", "$framesystem", "world"]);

/**
 * Finds what a dependency text means among full names. A full name means itself; a short name means
 * every resource of that name (two resources of different APIs may share one), as the reference
 * resolves them. Empty when nothing has that name.
 */
export function resolveDependency(text: string, index: DependencyIndex): readonly string[] {
  if (index.fullNames.has(text)) return [text];
  return index.byShortName.get(text) ?? [];
}

/**
 * What the dependency text of a resource means. Others than {@linkcode resolveDependency} says, a
 * short name that it shares with other resources means those and not itself.
 */
export function resolveOthers(
  text: string,
  index: DependencyIndex,
  self: string,
): readonly string[] {
  const targets = resolveDependency(text, index);
  return targets.length > 1 ? targets.filter((target) => target !== self) : targets;
}

/** Full names and the short names they are found by. */
export interface DependencyIndex {
  readonly fullNames: ReadonlySet<string>;
  readonly byShortName: ReadonlyMap<string, readonly string[]>;
  /** Short names without remote that several remotes have for one API, with the names to use. */
  readonly ambiguous: ReadonlyMap<string, readonly string[]>;
}

/**
 * Makes the index that {@linkcode resolveDependency} looks names up in. A resource of a remote is
 * also found by its name without the remote, where no other resource has it.
 */
export function indexNames(fullNames: Iterable<string>): DependencyIndex {
  const names = new Set(fullNames);
  const byShortName = new Map<string, string[]>();
  const behindRemotes = new Map<string, string[]>();
  for (const name of names) {
    const short = name.slice(name.indexOf("/") + 1);
    add(byShortName, short, name);
    if (!short.includes(":")) continue;
    const plain = short.slice(short.lastIndexOf(":") + 1);
    add(behindRemotes, plain, name);
    add(behindRemotes, `${name.slice(0, name.indexOf("/"))}/${plain}`, name);
  }
  const ambiguous = new Map<string, string[]>();
  for (const [short, found] of behindRemotes) {
    if (byShortName.has(short) || names.has(short)) continue;
    const apis = new Set(found.map((name) => name.slice(0, name.indexOf("/"))));
    if (apis.size === found.length) byShortName.set(short, found);
    else ambiguous.set(short, found.map((name) => name.slice(name.indexOf("/") + 1)));
  }
  return { fullNames: names, byShortName, ambiguous };
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** True for names the server provides whatever the configuration specifies. */
export function isBuiltInDependency(text: string): boolean {
  if (INTERNAL_NAMES.has(text)) return true;
  try {
    const { api, name } = parseResourceName(text);
    if (api.namespace === `${BUILTIN_NAMESPACE}-internal`) return true;
    return api.namespace === BUILTIN_NAMESPACE && api.type === "service" && name === "builtin";
  } catch {
    return text === "builtin";
  }
}

/** The remote that a name with a prefix belongs to, `r` of `rdk:component:arm/r:left`. */
export function remoteOf(text: string): string | undefined {
  const name = text.slice(text.indexOf("/") + 1);
  const colon = name.indexOf(":");
  return colon > 0 ? name.slice(0, colon) : undefined;
}

/** A dependency that names nothing. */
export interface UnknownDependency {
  node: string;
  /** Position in the node's `dependsOn`. */
  index: number;
  dependency: string;
}

/** Dependencies that name neither another node nor something built in, in order of the nodes. */
export function findUnknownDependencies(nodes: readonly DependencyNode[]): UnknownDependency[] {
  const names = indexNames(nodes.map((node) => node.name));
  return nodes.flatMap((node) =>
    node.dependsOn.flatMap((dependency, index) =>
      isBuiltInDependency(dependency) || resolveDependency(dependency, names).length > 0
        ? []
        : [{ node: node.name, index, dependency }]
    )
  );
}

/**
 * Cycles among the nodes, each as the full names along it: `[a, b]` means a needs b and b needs a.
 * Every node stands in at most one of the cycles. Runs in time linear to nodes and dependencies.
 */
export function findDependencyCycles(nodes: readonly DependencyNode[]): string[][] {
  const index = indexNames(nodes.map((node) => node.name));
  const edges = new Map(
    nodes.map((node) => [
      node.name,
      node.dependsOn.flatMap((text) => resolveOthers(text, index, node.name)),
    ]),
  );
  const cycles: string[][] = [];
  const inCycle = new Set<string>();
  const done = new Set<string>();
  for (const start of edges.keys()) walk(start);
  return cycles;

  // Depth first with a stack of its own: a long chain must not overflow the call stack.
  function walk(start: string): void {
    if (done.has(start)) return;
    const trail: { name: string; next: number }[] = [{ name: start, next: 0 }];
    const onTrail = new Map([[start, 0]]);
    while (trail.length > 0) {
      const top = trail[trail.length - 1];
      if (!top) return;
      const target = edges.get(top.name)?.[top.next++];
      if (target === undefined) {
        trail.pop();
        onTrail.delete(top.name);
        done.add(top.name);
      } else if (onTrail.has(target)) {
        const cycle = trail.slice(onTrail.get(target)).map((step) => step.name);
        if (!cycle.some((name) => inCycle.has(name))) cycles.push(cycle);
        for (const name of cycle) inCycle.add(name);
      } else if (!done.has(target)) {
        onTrail.set(target, trail.length);
        trail.push({ name: target, next: 0 });
      }
    }
  }
}
