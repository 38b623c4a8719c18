import { checkLocated, type Located, type LocatedLists } from "./check.ts";
import { checkTriggerPatterns } from "./checks/trigger_patterns.ts";
import {
  type DependencyNode,
  findDependencyCycles,
  findUnknownDependencies,
  indexNames,
  remoteOf,
  resolveDependency,
} from "./dependencies.ts";
import type { MachineConfig } from "./machine_config.ts";
import { type ConfigProblem, type Path, problemAt, ProblemList, type Report } from "./problem.ts";
import { type ConfigReading, readConfigOnce } from "./reading.ts";
import type { ResourceConfig } from "./resources.ts";
import { withoutEffect } from "./without_effect.ts";

/**
 * Checks a configuration before it is saved. Every problem has the JSON path, what was found and
 * what is allowed; `formatProblem` makes a sentence of it. Empty: the configuration may be saved.
 *
 * Stricter than `parseMachineConfig`: dependencies must name something and make no cycle. Unknown
 * keys, further attributes and unknown models are fine.
 */
export function validateForSave(
  json: unknown,
  options: SaveOptions = {},
): ConfigProblem[] {
  return validateReading(readConfigOnce(json, MOST_PROBLEMS), options);
}

/** Problems after which a check of what is to be saved ends. */
export const MOST_PROBLEMS = 1_000;

export interface SaveOptions {
  /** `elsewhere`: it is a piece of a configuration, what it depends on may be in another. */
  readonly dependencies?: "here" | "elsewhere";
}

/** {@link validateForSave} of what was read already. */
export function validateReading(
  { json, config, lists, problems: wrongForms }: ConfigReading,
  options: SaveOptions = {},
): ConfigProblem[] {
  if (wrongForms.length >= MOST_PROBLEMS) return [...wrongForms];
  const problems = new ProblemList(MOST_PROBLEMS - wrongForms.length);
  const { report } = problems;
  problems.until(() => {
    checkLocated(config, lists, report);
    for (const { value, path } of lists.triggers) checkTriggerPatterns(value, path, report);
    const names = options.dependencies === "elsewhere" ? undefined : namesInJson(json);
    checkDependencies(config, lists, names, report);
  });
  return [...wrongForms, ...problems.found];
}

/**
 * What is odd about a configuration and does not keep it from being saved: keys that nobody reads,
 * each with the one that was probably meant, and fields that are known and have no effect.
 */
export function warningsForSave({ json, warnings }: ConfigReading): ConfigProblem[] {
  return [...warnings, ...withoutEffect(json)];
}

/** More takes seconds, and no machine needs it. */
const MOST_EDGES = 100_000;

function checkDependencies(
  config: MachineConfig,
  lists: LocatedLists,
  names: readonly string[] | undefined,
  report: Report,
): void {
  const resources = [...lists.components, ...lists.services];
  const byName = new Map<string, Located<ResourceConfig>>();
  for (const entry of resources) {
    const { name } = nodeOf(entry);
    if (!byName.has(name)) byName.set(name, entry);
  }
  const nodes = [...byName.values()].map(nodeOf);
  if (hasManyEdges(nodes)) {
    const message = `there are more than ${MOST_EDGES} dependencies: a short name means all ` +
      "resources that have it";
    return report(
      problemAt(["components"], config.components, message, "full names in depends_on"),
    );
  }
  for (const cycle of findDependencyCycles(nodes)) reportCycle(cycle, byName, report);
  // What a remote or a fragment brings is not seen here, so a name may well be one of its.
  if (!names || config.remotes.length > 0 || config.fragments.length > 0) return;
  // An entry with another problem still has its name; one problem must not look like two.
  const unseen = names.map((name) => ({ name: `/${name}`, dependsOn: [] }));
  for (const { node, index, dependency } of findUnknownDependencies([...nodes, ...unseen])) {
    // The cloud adds the other parts of a machine as remotes.
    if (remoteOf(dependency) !== undefined) continue;
    const path: Path = [...(byName.get(node)?.path ?? []), "depends_on", index];
    const message = "there is no component or service of this name";
    report(problemAt(path, dependency, message, "the name of a component or service"));
  }
}

function hasManyEdges(nodes: readonly DependencyNode[]): boolean {
  const index = indexNames(nodes.map(({ name }) => name));
  let edges = 0;
  for (const { dependsOn } of nodes) {
    for (const text of dependsOn) edges += resolveDependency(text, index).length;
  }
  return edges > MOST_EDGES;
}

function reportCycle(
  cycle: readonly string[],
  byName: ReadonlyMap<string, Located<ResourceConfig>>,
  report: Report,
): void {
  const [first = ""] = cycle;
  const short = [...cycle, first].map((name) => name.slice(name.indexOf("/") + 1));
  const message = cycle.length === 1
    ? "the resource depends on itself"
    : `the resources depend on each other: ${short.join(" → ")}`;
  const entry = byName.get(first);
  const path: Path = [...(entry?.path ?? []), "depends_on"];
  report(problemAt(path, entry?.value.depends_on, message, "dependencies without a circle"));
}

function nodeOf({ value }: Located<ResourceConfig>): DependencyNode {
  return { name: `${value.api}/${value.name}`, dependsOn: value.depends_on ?? [] };
}

/** Names of all components and services, also of those whose form is wrong. */
function namesInJson(json: unknown): string[] {
  if (typeof json !== "object" || json === null) return [];
  const lists = json as Record<string, unknown>;
  return [lists["components"], lists["services"]].flatMap((list) => Array.isArray(list) ? list : [])
    .flatMap((entry: unknown) => {
      const name = typeof entry === "object" && entry !== null && "name" in entry ? entry.name : "";
      return typeof name === "string" && name !== "" ? [name] : [];
    });
}
