/** Optional dependencies of running resources: which are there, and whether others are by now. */
import type { ResourceNode } from "./node.ts";
import type { Resource } from "./resource.ts";

type Nodes = ReadonlyMap<string, ResourceNode>;

/** The optional dependencies that are ready. */
export function optionalInstances(node: ResourceNode, nodes: Nodes): Map<string, Resource> {
  const ready = new Map<string, Resource>();
  for (const key of node.target.optional) {
    const instance = nodes.get(key)?.instance;
    if (instance) ready.set(key, instance);
  }
  return ready;
}

/**
 * True when a running resource has other optional dependencies than are ready now and must be
 * built again. Two resources that are optional to each other would do so forever: between them
 * only coming and going counts.
 */
export function hasStaleOptional(node: ResourceNode, nodes: Nodes): boolean {
  const { usedOptional } = node;
  if (node.target.optional.length === 0 && usedOptional.size === 0) return false;
  const ready = optionalInstances(node, nodes);
  if (ready.size !== usedOptional.size) return true;
  for (const [key, instance] of ready) {
    const used = usedOptional.get(key);
    if (used === undefined) return true;
    if (used !== instance && !reaches(key, node.key, nodes)) return true;
  }
  return false;
}

/** True when `from` depends on `to` by any way. */
function reaches(from: string, to: string, nodes: Nodes): boolean {
  const seen = new Set([from]);
  for (const key of seen) {
    if (key === to) return true;
    const target = nodes.get(key)?.target;
    for (const next of target ? [...target.dependencies, ...target.optional] : []) seen.add(next);
  }
  return false;
}
