import { sameJson } from "../base/json/json.ts";
import type { MachineConfig } from "./machine_config.ts";
import type { ModuleConfig, PackageConfig } from "./modules.ts";
import type { JobConfig } from "./operation.ts";
import type { ProcessConfig, RemoteConfig } from "./remotes.ts";
import type { ResourceConfig } from "./resources.ts";
import type { TriggerConfig } from "./triggers.ts";

/** One entry that is new or gone. */
export interface NamedEntry<T> {
  name: string;
  value: T;
}

/** One entry that is in both configurations and differs. */
export interface ModifiedEntry<T> {
  name: string;
  before: T;
  after: T;
  /** First-level keys that differ, for example `attributes`. */
  changedKeys: string[];
}

/** What changed in a list. */
export interface ListDiff<T> {
  added: NamedEntry<T>[];
  modified: ModifiedEntry<T>[];
  removed: NamedEntry<T>[];
}

/** A part of the configuration outside the lists that changed. */
export interface BlockChange {
  /** Key in the configuration, for example `network`. */
  key: string;
  before: unknown;
  after: unknown;
}

/** What changed between two configurations. */
export interface ConfigDiff {
  /** Components and services together, by full name: `rdk:component:sensor/host`. */
  resources: ListDiff<ResourceConfig>;
  modules: ListDiff<ModuleConfig>;
  remotes: ListDiff<RemoteConfig>;
  processes: ListDiff<ProcessConfig>;
  packages: ListDiff<PackageConfig>;
  jobs: ListDiff<JobConfig>;
  triggers: ListDiff<TriggerConfig>;
  /** Everything else that changed, `revision` excepted, in order of keys. */
  blocks: BlockChange[];
  /** Network, auth, cloud block or profiler: the listener has to restart. */
  networkChanged: boolean;
  /** Log rules, debug, deduplication, or the log level of a resource. */
  logChanged: boolean;
  jobsChanged: boolean;
  tracingChanged: boolean;
  maintenanceChanged: boolean;
  agentChanged: boolean;
  triggersChanged: boolean;
  revisionChanged: boolean;
  /** True when nothing but, at most, the revision changed. */
  empty: boolean;
}

const LISTS = ["modules", "remotes", "processes", "packages", "jobs", "triggers"] as const;
const NOT_BLOCKS = new Set<string>([...LISTS, "components", "services", "revision"]);
const NETWORK_KEYS = new Set(["network", "auth", "cloud", "enable_web_profile"]);
const LOG_KEYS = new Set(["log", "debug", "disable_log_deduplication"]);
/** Keys that are not part of what an entry is: notes the cloud makes on it. */
const IGNORED_KEYS: ReadonlySet<string> = new Set(["status"]);
const NONE: ReadonlySet<string> = new Set();

/** Compares two configurations by the names of their entries; the order of keys does not matter. */
export function diffConfigs(old: MachineConfig, next: MachineConfig): ConfigDiff {
  const byName = (entry: { name: string }) => entry.name;
  const resources = diffList(resourcesOf(old), resourcesOf(next), resourceKey);
  const jobs = diffList(old.jobs, next.jobs, byName);
  const triggers = diffList(old.triggers, next.triggers, byName);
  const lists = {
    resources,
    modules: diffList(old.modules, next.modules, byName),
    remotes: diffList(old.remotes, next.remotes, byName),
    processes: diffList(old.processes, next.processes, (entry) => entry.id),
    // Of a package the note shows whether the cloud has it.
    packages: diffList(old.packages, next.packages, byName, NONE),
    jobs,
    triggers,
  };
  const blocks = diffBlocks(old, next);
  const changed = (keys: ReadonlySet<string>) => blocks.some(({ key }) => keys.has(key));
  return {
    ...lists,
    blocks,
    networkChanged: changed(NETWORK_KEYS),
    logChanged: changed(LOG_KEYS) || resources.modified.some(changesLogLevel),
    jobsChanged: !isEmpty(jobs),
    tracingChanged: changed(new Set(["tracing"])),
    maintenanceChanged: changed(new Set(["maintenance"])),
    agentChanged: changed(new Set(["agent"])),
    triggersChanged: !isEmpty(triggers),
    revisionChanged: old.revision !== next.revision,
    empty: blocks.length === 0 && Object.values(lists).every((list) => isEmpty(list)),
  };
}

/** Full name of a resource, `rdk:component:sensor/host`: what diffs and graphs know it by. */
export function resourceKey(resource: Pick<ResourceConfig, "api" | "name">): string {
  return `${resource.api}/${resource.name}`;
}

function resourcesOf(config: MachineConfig): ResourceConfig[] {
  return [...config.components, ...config.services];
}

function changesLogLevel(entry: ModifiedEntry<ResourceConfig>): boolean {
  return entry.changedKeys.includes("log_configuration");
}

function isEmpty(list: ListDiff<unknown>): boolean {
  return list.added.length + list.modified.length + list.removed.length === 0;
}

function diffList<T extends object>(
  old: readonly T[],
  next: readonly T[],
  nameOf: (entry: T) => string,
  ignored = IGNORED_KEYS,
): ListDiff<T> {
  const before = new Map(old.map((entry) => [nameOf(entry), entry]));
  const after = new Map(next.map((entry) => [nameOf(entry), entry]));
  const diff: ListDiff<T> = { added: [], modified: [], removed: [] };
  for (const [name, value] of after) {
    const earlier = before.get(name);
    if (earlier === undefined) {
      diff.added.push({ name, value });
      continue;
    }
    const changedKeys = keysThatDiffer(earlier, value, ignored);
    if (changedKeys.length > 0) {
      diff.modified.push({ name, before: earlier, after: value, changedKeys });
    }
  }
  for (const [name, value] of before) {
    if (!after.has(name)) diff.removed.push({ name, value });
  }
  return diff;
}

function keysThatDiffer(before: object, after: object, ignored = IGNORED_KEYS): string[] {
  const left = before as Record<string, unknown>;
  const right = after as Record<string, unknown>;
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return keys.filter((key) => !ignored.has(key) && !sameJson(left[key], right[key])).sort();
}

function diffBlocks(old: MachineConfig, next: MachineConfig): BlockChange[] {
  const left = old as unknown as Record<string, unknown>;
  const right = next as unknown as Record<string, unknown>;
  return keysThatDiffer(old, next).filter((key) => !NOT_BLOCKS.has(key)).map((key) => ({
    key,
    before: left[key],
    after: right[key],
  }));
}
