/** From the configuration's entries to nodes with resolved dependencies. Pure. */
import type { JsonObject } from "@bufbuild/protobuf";
import { fullName, isFrameSystem } from "./name.ts";

/** One component or service of the configuration, in the form the graph works on. */
export interface ResourceSpec {
  /** Short name. */
  readonly name: string;
  readonly api: string;
  readonly model: string;
  readonly attributes: JsonObject;
  /** Short or full names, as the user wrote them. */
  readonly dependsOn: readonly string[];
  /** Why the entry cannot be built at all; found when the configuration was checked. */
  readonly problem?: string | undefined;
}

/** A spec whose dependencies are known. */
export interface TargetNode {
  /** Full name. */
  readonly key: string;
  readonly spec: ResourceSpec;
  /** Two nodes with the same fingerprint would be built the same way. */
  readonly fingerprint: string;
  /** Full names, without doubles. */
  readonly dependencies: readonly string[];
  /** Why it cannot be built. */
  readonly problem: string | undefined;
}

export type Target = ReadonlyMap<string, TargetNode>;

/**
 * Resolves `depends_on` and finds what cannot be built: unknown and ambiguous names, doubles,
 * cycles. A node with a problem stays in the target so that its status can say why.
 */
export function buildTarget(specs: readonly ResourceSpec[]): Target {
  const keysByShortName = new Map<string, string[]>();
  const first = new Map<string, ResourceSpec>();
  const doubles = new Set<string>();
  for (const spec of specs) {
    const key = fullName(spec.api, spec.name);
    if (first.has(key)) {
      doubles.add(key);
      continue;
    }
    first.set(key, spec);
    const same = keysByShortName.get(spec.name);
    if (same) same.push(key);
    else keysByShortName.set(spec.name, [key]);
  }

  const nodes = new Map<string, TargetNode>();
  for (const [key, spec] of first) {
    const { dependencies, problem } = resolve(spec, first, keysByShortName);
    const double = doubles.has(key) ? `the configuration has ${key} more than once` : undefined;
    nodes.set(key, {
      key,
      spec,
      fingerprint: fingerprintOf(spec),
      dependencies,
      problem: spec.problem ?? double ?? problem,
    });
  }
  for (const cycle of findCycles(nodes)) {
    for (const key of cycle) {
      const node = nodes.get(key)!;
      const path = rotateTo(cycle, key).concat(key).join(" -> ");
      nodes.set(key, { ...node, problem: node.problem ?? `circular dependency: ${path}` });
    }
  }
  return nodes;
}

function resolve(
  spec: ResourceSpec,
  known: ReadonlyMap<string, ResourceSpec>,
  keysByShortName: ReadonlyMap<string, string[]>,
): { dependencies: string[]; problem: string | undefined } {
  const dependencies = new Set<string>();
  let problem: string | undefined;
  spec.dependsOn.forEach((written, index) => {
    if (isFrameSystem(written)) return;
    const matches = written.includes("/")
      ? (known.has(written) ? [written] : [])
      : keysByShortName.get(written) ?? [];
    if (matches.length === 1) {
      dependencies.add(matches[0]!);
    } else if (matches.length === 0) {
      problem ??= `depends_on[${index}]: there is no resource "${written}" in the configuration`;
    } else {
      problem ??= `depends_on[${index}]: "${written}" is the name of ${matches.join(" and ")}; ` +
        "write the full name of the one that is meant";
    }
  });
  return { dependencies: [...dependencies], problem };
}

/** Cycles among the nodes, each as the keys along it. */
export function findCycles(nodes: Target): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  for (const start of nodes.keys()) {
    // Depth first with an own stack: a chain of thousands of resources must not overflow.
    const path: string[] = [];
    const onPath = new Map<string, number>();
    const stack: { key: string; next: number }[] = [];
    const enter = (key: string) => {
      onPath.set(key, path.length);
      path.push(key);
      stack.push({ key, next: 0 });
    };
    if (!done.has(start)) enter(start);
    while (stack.length > 0) {
      const frame = stack.at(-1)!;
      const dependency = nodes.get(frame.key)!.dependencies[frame.next++];
      if (dependency === undefined) {
        stack.pop();
        path.pop();
        onPath.delete(frame.key);
        done.add(frame.key);
      } else if (onPath.has(dependency)) {
        cycles.push(path.slice(onPath.get(dependency)));
      } else if (!done.has(dependency)) {
        enter(dependency);
      }
    }
  }
  return cycles;
}

function rotateTo(cycle: readonly string[], key: string): string[] {
  const at = cycle.indexOf(key);
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}

function fingerprintOf(spec: ResourceSpec): string {
  return canonicalJson({ model: spec.model, attributes: spec.attributes });
}

/** JSON with sorted keys, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1));
  });
}
