/** From the configuration's entries to nodes with resolved dependencies. Pure. */
import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalJson } from "../../../shared/base/json/json.ts";
import {
  type DependencyIndex,
  findDependencyCycles,
  indexNames,
  isBuiltInDependency,
  remoteOf,
  resolveDependency,
  resolveOthers,
} from "../../../shared/config/dependencies.ts";
import { fullName } from "./name.ts";
import type { Construction, Resource } from "./resource.ts";

/** One component or service of the configuration, in the form the graph works on. */
export interface ResourceSpec {
  /** Short name. */
  readonly name: string;
  readonly api: string;
  readonly model: string;
  readonly attributes: JsonObject;
  /** Short or full names, as the user wrote them. */
  readonly dependsOn: readonly string[];
  /**
   * What else of the entry is passed to a module: `frame`, `log_configuration`, `service_configs`.
   * Of these a resource is built again only for its frame.
   */
  readonly extra?: JsonObject;
  /** Why the entry cannot be built at all; found when the configuration was checked. */
  readonly problem?: string | undefined;
  /** What the entry waits for: a package that is downloaded. */
  readonly pending?: string | undefined;
  /** What builds a resource that is in no configuration, in place of the model of that name. */
  readonly builtBy?: ResourceBuilder;
}

/** Builds one resource. */
export interface ResourceBuilder {
  /** The resource is built again when it changes. */
  readonly generation: string;
  construct(construction: Construction<JsonObject>): Promise<Resource>;
}

/** What is known of a remote while names of its resources are looked up. */
export interface RemoteFacts {
  /** What it waits for before its first connection. */
  readonly pending?: string | undefined;
  /** Why it is not connected. */
  readonly problem?: string | undefined;
}

export type RemotesFacts = ReadonlyMap<string, RemoteFacts>;

/** A spec whose dependencies are known. */
export interface TargetNode {
  /** Full name. */
  readonly key: string;
  readonly spec: ResourceSpec;
  /** Two nodes with the same fingerprint would be built the same way. */
  readonly fingerprint: string;
  /** Full names of what must be ready first, without doubles. */
  readonly dependencies: readonly string[];
  /** Full names of what is used where it is ready; none of them stands in `dependencies`. */
  readonly optional: readonly string[];
  /** Why it cannot be built. */
  readonly problem: string | undefined;
  /** What it waits for before it can be said whether it can be built. */
  readonly pending: string | undefined;
}

export type Target = ReadonlyMap<string, TargetNode>;

/** What the model of a resource says of it. */
export interface ModelFacts {
  /** The resource is built again when it changes. Default empty. */
  readonly generation?: string;
  /** Names in the attributes that must be ready first. */
  readonly required?: readonly string[];
  /** Names in the attributes that are used where they are ready. */
  readonly optional?: readonly string[];
  /** APIs all of whose resources are used where they are ready. */
  readonly weak?: readonly string[];
  readonly problem?: string;
  readonly pending?: string;
}

/**
 * Resolves dependencies and finds what cannot be built: unknown names, doubles, cycles, unknown
 * models. A node with a problem stays in the target so that its status can say why.
 */
export function buildTarget(
  specs: readonly ResourceSpec[],
  factsOf: (key: string, spec: ResourceSpec) => ModelFacts = () => ({}),
  remotes: RemotesFacts = new Map(),
): Target {
  const first = new Map<string, { spec: ResourceSpec; facts: ModelFacts }>();
  const doubles = new Set<string>();
  for (const spec of specs) {
    const key = fullName(spec.api, spec.name);
    if (first.has(key)) doubles.add(key);
    else first.set(key, { spec, facts: factsOf(key, spec) });
  }
  const names = indexNames(first.keys());
  const cycles = findCycles(first);
  const ofApi = groupByApi(first.keys());

  const nodes = new Map<string, TargetNode>();
  for (const [key, { spec, facts }] of first) {
    const { dependencies, problem, pending } = resolve(key, spec, facts, { names, remotes });
    const double = doubles.has(key) ? `the configuration has ${key} more than once` : undefined;
    const optional = new Set<string>();
    for (const written of facts.optional ?? []) {
      for (const match of resolveDependency(written, names)) optional.add(match);
    }
    for (const api of facts.weak ?? []) {
      for (const match of ofApi.get(api) ?? []) optional.add(match);
    }
    nodes.set(key, {
      key,
      spec,
      fingerprint: fingerprintOf(spec, facts.generation),
      dependencies,
      optional: [...optional].filter((name) => name !== key && !dependencies.includes(name)),
      problem: spec.problem ?? double ?? cycles.get(key) ?? problem ?? facts.problem,
      pending: spec.pending ?? facts.pending ?? pending,
    });
  }
  return withoutLoops(nodes);
}

/**
 * An optional dependency that needs the resource itself is left out: whenever it got ready, the
 * resource would be built again with it, and it again after the resource, without end.
 */
function withoutLoops(nodes: Map<string, TargetNode>): Target {
  let dependents: ReadonlyMap<string, readonly string[]> | undefined;
  for (const [key, node] of nodes) {
    if (node.optional.length === 0) continue;
    const needing = new Set([key]);
    dependents ??= requiredBy(nodes);
    for (const reached of needing) {
      for (const dependent of dependents.get(reached) ?? []) needing.add(dependent);
    }
    if (needing.size === 1) continue;
    const optional = node.optional.filter((name) => !needing.has(name));
    nodes.set(key, { ...node, optional });
  }
  return nodes;
}

function requiredBy(nodes: Target): Map<string, string[]> {
  const dependents = new Map<string, string[]>();
  for (const { key, dependencies } of nodes.values()) {
    for (const dependency of dependencies) {
      const known = dependents.get(dependency);
      if (known) known.push(key);
      else dependents.set(dependency, [key]);
    }
  }
  return dependents;
}

function resolve(
  self: string,
  spec: ResourceSpec,
  facts: ModelFacts,
  { names, remotes }: { names: DependencyIndex; remotes: RemotesFacts },
): { dependencies: string[]; problem: string | undefined; pending: string | undefined } {
  const dependencies = new Set<string>();
  let problem: string | undefined;
  let pending: string | undefined;
  const add = (written: string, where: string) => {
    const matches = resolveOthers(written, names, self);
    for (const key of matches) dependencies.add(key);
    if (matches.length > 0 || isBuiltInDependency(written)) return;
    const unknown = unknownName(written, names, remotes);
    if (unknown.isPending) pending ??= `${where}: ${unknown.text}`;
    else problem ??= `${where}: ${unknown.text}`;
  };
  spec.dependsOn.forEach((written, index) => add(written, `depends_on[${index}]`));
  for (const written of facts.required ?? []) add(written, "a dependency of its attributes");
  return { dependencies: [...dependencies], problem, pending };
}

/** Why a name means nothing, and whether it may come to mean something without a change. */
function unknownName(
  written: string,
  names: DependencyIndex,
  remotes: RemotesFacts,
): { text: string; isPending: boolean } {
  const several = names.ambiguous.get(written);
  if (several) {
    const text = `${several.length} remotes have a resource "${written}"; write one of ` +
      several.map((name) => `"${name}"`).join(", ");
    return { text, isPending: false };
  }
  const remote = remoteOf(written);
  if (remote !== undefined) {
    const facts = remotes.get(remote);
    if (!facts) {
      const text = `"${written}" would be a resource of the remote ${remote}, and there is no ` +
        "such remote in the configuration";
      return { text, isPending: false };
    }
    const why = facts.pending ?? facts.problem;
    const text = why === undefined
      ? `the remote ${remote} has no resource "${written}"`
      : `waiting for remote ${remote}: ${why}`;
    return { text, isPending: facts.pending !== undefined };
  }
  const away = [...remotes].filter(([, { pending, problem }]) => pending ?? problem);
  const list = away.map(([name]) => name).join(", ");
  const perhaps = away.length === 0 ? "" : `, nor on a remote that is connected; missing: ${list}`;
  return {
    text: `there is no resource "${written}" in the configuration${perhaps}`,
    isPending: away.some(([, { pending }]) => pending !== undefined),
  };
}

function groupByApi(keys: Iterable<string>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const api = key.slice(0, key.indexOf("/"));
    const group = groups.get(api);
    if (group) group.push(key);
    else groups.set(api, [key]);
  }
  return groups;
}

/** For each resource that stands in a cycle, the way round. */
function findCycles(
  specs: ReadonlyMap<string, { spec: ResourceSpec; facts: ModelFacts }>,
): Map<string, string> {
  const cycles = findDependencyCycles(
    [...specs].map(([name, { spec, facts }]) => ({
      name,
      dependsOn: facts.required ? [...spec.dependsOn, ...facts.required] : spec.dependsOn,
    })),
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

/** Specs don't change; of most resources the same one comes again with the next target. */
const fingerprints = new WeakMap<ResourceSpec, string>();

function fingerprintOf(spec: ResourceSpec, generation = ""): string {
  let known = fingerprints.get(spec);
  if (known === undefined) {
    const { model, attributes, extra } = spec;
    fingerprints.set(spec, known = canonicalJson({ model, attributes, frame: extra?.["frame"] }));
  }
  return generation === "" ? known : `${generation} ${known}`;
}
