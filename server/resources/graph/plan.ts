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
  /** Runs with optional dependencies that are no longer the right ones. Default false. */
  readonly stale?: boolean;
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
  /** Wanted, but it can't be said yet whether they are possible; with what they wait for. */
  readonly pending: ReadonlyMap<string, string>;
  /** Stay as they are, running or being built. */
  readonly keep: readonly string[];
}

/**
 * Plans the way from `current` to `target`. A changed resource is closed and built again, and so is
 * everything that depends on it; nothing else is touched. What is closed is built again, which makes
 * planning the same target once more the retry of what failed.
 */
export function planChanges(current: Current, target: Target): Plan {
  const blocked = findHeldUp(target, ({ problem }) => problem);
  const pending = findHeldUp(target, (node) => blocked.has(node.key) ? undefined : node.pending);
  for (const key of blocked.keys()) pending.delete(key);
  const heldUp = (key: string) => blocked.has(key) || pending.has(key);
  const remove = [...current.keys()].filter((key) => !target.has(key));

  const disturbed = new Set<string>();
  for (const [key, node] of current) {
    const wanted = target.get(key);
    const same = wanted !== undefined && !heldUp(key) && sameNode(node, wanted);
    if (!same || node.stale || node.phase === "closed") disturbed.add(key);
  }
  for (const key of target.keys()) if (!current.has(key)) disturbed.add(key);
  spread(disturbed, dependentsOf(current, target));

  const closeKeys = [...current].filter(([key, node]) =>
    disturbed.has(key) && node.phase !== "closed"
  ).map(([key]) => key);
  const buildKeys = [...target.keys()].filter((key) => disturbed.has(key) && !heldUp(key));

  return {
    close: levels(closeKeys, (key) => current.get(key)!.dependencies).reverse(),
    build: levels(
      buildKeys,
      (key) => target.get(key)!.dependencies,
      (key) => target.get(key)!.optional,
    ),
    remove,
    blocked,
    pending,
    keep: [...target.keys()].filter((key) => !disturbed.has(key)),
  };
}

/**
 * Nodes that have a reason not to be built, and those that need one of them, with what to report.
 */
function findHeldUp(
  target: Target,
  reasonOf: (node: TargetNode) => string | undefined,
): Map<string, string> {
  const held = new Map<string, string>();
  for (const node of target.values()) {
    const reason = reasonOf(node);
    if (reason !== undefined) held.set(node.key, reason);
  }
  if (held.size === 0) return held;
  const dependents = dependentsOf(new Map(), target);
  const queue = [...held.keys()];
  for (let at = 0; at < queue.length; at++) {
    const key = queue[at]!;
    for (const dependent of dependents.get(key) ?? []) {
      if (held.has(dependent)) continue;
      held.set(dependent, waitingFor(key, held.get(key)!));
      queue.push(dependent);
    }
  }
  return held;
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

/**
 * Groups keys so that each stands in a later level than those of `keys` it depends on, and than
 * its optional ones unless that makes a circle.
 */
function levels(
  keys: readonly string[],
  dependenciesOf: (key: string) => readonly string[],
  optionalOf: (key: string) => readonly string[] = () => [],
) {
  const waiting = new Map<string, { required: number; optional: number }>();
  const dependents = new Map<string, { key: string; kind: "required" | "optional" }[]>();
  const members = new Set(keys);
  for (const key of keys) {
    const counts = { required: 0, optional: 0 };
    waiting.set(key, counts);
    const count = (dependency: string, kind: "required" | "optional") => {
      if (!members.has(dependency)) return;
      counts[kind]++;
      const known = dependents.get(dependency);
      if (known) known.push({ key, kind });
      else dependents.set(dependency, [{ key, kind }]);
    };
    for (const dependency of dependenciesOf(key)) count(dependency, "required");
    for (const dependency of optionalOf(key)) count(dependency, "optional");
  }
  const result: string[][] = [];
  const isFree = (key: string) => {
    const { required, optional } = waiting.get(key)!;
    return required + optional === 0;
  };
  let level = keys.filter(isFree);
  while (waiting.size > 0) {
    // What is left waits in a circle of optional dependencies; one of them goes without.
    if (level.length === 0) level = freed(waiting);
    if (level.length === 0) break;
    result.push(level);
    for (const key of level) waiting.delete(key);
    const next: string[] = [];
    for (const done of level) {
      for (const { key, kind } of dependents.get(done) ?? []) {
        const counts = waiting.get(key);
        if (!counts) continue;
        counts[kind]--;
        if (isFree(key)) next.push(key);
      }
    }
    level = next;
  }
  return result;
}

function freed(waiting: ReadonlyMap<string, { required: number }>): string[] {
  for (const [key, { required }] of waiting) if (required === 0) return [key];
  return [];
}
