/** From the configuration's entries to nodes with resolved dependencies. Pure. */
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type DependencyIndex,
  findDependencyCycles,
  indexNames,
  isBuiltInDependency,
  resolveDependency,
} from "../../shared/config/dependencies.ts";
import { fullName } from "./name.ts";

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
 * Resolves `depends_on` and finds what cannot be built: unknown names, doubles, cycles. A node with a problem stays in the target so that its status can say why.
 */
export function buildTarget(specs: readonly ResourceSpec[]): Target {
  const first = new Map<string, ResourceSpec>();
  const doubles = new Set<string>();
  for (const spec of specs) {
    const key = fullName(spec.api, spec.name);
    if (first.has(key)) doubles.add(key);
    else first.set(key, spec);
  }
  const names = indexNames(first.keys());
  const cycles = findCycles(first);

  const nodes = new Map<string, TargetNode>();
  for (const [key, spec] of first) {
    const { dependencies, problem } = resolve(spec, names);
    const double = doubles.has(key) ? `the configuration has ${key} more than once` : undefined;
    nodes.set(key, {
      key,
      spec,
      fingerprint: fingerprintOf(spec),
      dependencies,
      problem: spec.problem ?? double ?? cycles.get(key) ?? problem,
    });
  }
  return nodes;
}

function resolve(
  spec: ResourceSpec,
  names: DependencyIndex,
): { dependencies: string[]; problem: string | undefined } {
  const dependencies = new Set<string>();
  let problem: string | undefined;
  spec.dependsOn.forEach((written, index) => {
    const matches = resolveDependency(written, names);
    for (const key of matches) dependencies.add(key);
    if (matches.length === 0 && !isBuiltInDependency(written)) {
      problem ??= `depends_on[${index}]: there is no resource "${written}" in the configuration`;
    }
  });
  return { dependencies: [...dependencies], problem };
}

/** For each resource that stands in a cycle, the way round. */
function findCycles(specs: ReadonlyMap<string, ResourceSpec>): Map<string, string> {
  const cycles = findDependencyCycles(
    [...specs].map(([name, { dependsOn }]) => ({ name, dependsOn })),
  );
  const texts = new Map<string, string>();
  for (const cycle of cycles) {
    cycle.forEach((key, at) => {
      const way = [...cycle.slice(at), ...cycle.slice(0, at), key];
      if (!texts.has(key)) texts.set(key, `circular dependency: ${way.join(" -> ")}`);
    });
  }
  return texts;
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
