/** Which resources to close, build and leave alone to get from what runs to what is wanted. Pure. */
import type { Target, TargetNode } from "./target.ts";

/** What the plan needs to know of a resource that is there. */
export interface CurrentNode {
  readonly fingerprint: string;
  readonly dependencies: readonly string[];
  /**
   * `ready` runs; `building` has a constructor at work; `closed` is neither, be it that it failed
   * or that it waits for a dependency.
   */
  readonly phase: "ready" | "building" | "closed";
}

export type Current = ReadonlyMap<string, CurrentNode>;

/** What to do, in an order that respects dependencies. Names are full names. */
export interface Plan {
  /** Close these, level by level; dependents stand in earlier levels than what they depend on. */
  readonly close: readonly (readonly string[])[];
  /** Then build these, level by level; dependencies stand in earlier levels. */
  readonly build: readonly (readonly string[])[];
  /** No longer wanted; part of `close` when they run. */
  readonly remove: readonly string[];
  /** Wanted but impossible, with the reason. */
  readonly blocked: ReadonlyMap<string, string>;
  /** Stay as they are, running or being built. */
  readonly keep: readonly string[];
}

/**
 * Plans the way from `current` to `target`. A changed resource is closed and built again, and so is
 * everything that depends on it; nothing else is touched. What is closed is built again, which makes
 * planning the same target once more the retry of what failed.
 */
export function planChanges(current: Current, target: Target): Plan {
  const blocked = findBlocked(target);
  const remove = [...current.keys()].filter((key) => !target.has(key));

  const disturbed = new Set<string>();
  for (const [key, node] of current) {
    const wanted = target.get(key);
    const same = wanted !== undefined && !blocked.has(key) && sameNode(node, wanted);
    if (!same || node.phase === "closed") disturbed.add(key);
  }
  for (const key of target.keys()) if (!current.has(key)) disturbed.add(key);
  spread(disturbed, dependentsOf(current, target));

  const closeKeys = [...current].filter(([key, node]) =>
    disturbed.has(key) && node.phase !== "closed"
  ).map(([key]) => key);
  const buildKeys = [...target.keys()].filter((key) => disturbed.has(key) && !blocked.has(key));

  return {
    close: levels(closeKeys, (key) => current.get(key)!.dependencies).reverse(),
    build: levels(buildKeys, (key) => target.get(key)!.dependencies),
    remove,
    blocked,
    keep: [...target.keys()].filter((key) => !disturbed.has(key)),
  };
}

/** Nodes with a problem, and those that need one of them, each with what to tell the user. */
function findBlocked(target: Target): Map<string, string> {
  const blocked = new Map<string, string>();
  for (const node of target.values()) if (node.problem) blocked.set(node.key, node.problem);
  const dependents = dependentsOf(new Map(), target);
  const queue = [...blocked.keys()];
  for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
    for (const dependent of dependents.get(key) ?? []) {
      if (blocked.has(dependent)) continue;
      blocked.set(dependent, waitingFor(key, blocked.get(key)!));
      queue.push(dependent);
    }
  }
  return blocked;
}

/** Status text of a resource whose dependency is not there. */
export function waitingFor(dependency: string, reason: string): string {
  return `waiting for dependency ${dependency}: ${reason}`;
}

function sameNode(node: CurrentNode, wanted: TargetNode): boolean {
  return node.fingerprint === wanted.fingerprint &&
    node.dependencies.length === wanted.dependencies.length &&
    node.dependencies.every((key) => wanted.dependencies.includes(key));
}

/** Who depends on whom, by what runs and by what is wanted. */
function dependentsOf(current: Current, target: Target): Map<string, Set<string>> {
  const dependents = new Map<string, Set<string>>();
  for (const nodes of [current, target]) {
    for (const [key, node] of nodes) {
      for (const dependency of node.dependencies) {
        const known = dependents.get(dependency);
        if (known) known.add(key);
        else dependents.set(dependency, new Set([key]));
      }
    }
  }
  return dependents;
}

function spread(marked: Set<string>, dependents: ReadonlyMap<string, ReadonlySet<string>>): void {
  const queue = [...marked];
  for (let i = 0; i < queue.length; i++) {
    for (const dependent of dependents.get(queue[i]!) ?? []) {
      if (marked.has(dependent)) continue;
      marked.add(dependent);
      queue.push(dependent);
    }
  }
}

/** Groups keys so that each stands in a later level than those of `keys` it depends on. */
function levels(keys: readonly string[], dependenciesOf: (key: string) => readonly string[]) {
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  const members = new Set(keys);
  for (const key of keys) {
    const inside = dependenciesOf(key).filter((dependency) => members.has(dependency));
    waiting.set(key, inside.length);
    for (const dependency of inside) {
      const known = dependents.get(dependency);
      if (known) known.push(key);
      else dependents.set(dependency, [key]);
    }
  }
  const result: string[][] = [];
  let level = keys.filter((key) => waiting.get(key) === 0);
  while (level.length > 0) {
    result.push(level);
    const next: string[] = [];
    for (const key of level) {
      for (const dependent of dependents.get(key) ?? []) {
        const left = waiting.get(dependent)! - 1;
        waiting.set(dependent, left);
        if (left === 0) next.push(dependent);
      }
    }
    level = next;
  }
  return result;
}
