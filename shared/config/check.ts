/**
 * Checks of a configuration whose form is right: names, ranges, references, duplicates. No zod here,
 * because a server that gets its configuration as a message runs only this part.
 */
import { rebootTimeProblem } from "./agent_settings.ts";
import {
  checkJob,
  checkLogRule,
  checkMaintenance,
  checkModule,
  checkPackage,
  checkProcess,
  checkRemote,
} from "./checks/entries.ts";
import { findDuplicates } from "./checks/names.ts";
import { checkAuth, checkCloud, checkNetwork, type ConfigSource } from "./checks/network.ts";
import { checkResource } from "./checks/resources.ts";
import { checkTrigger } from "./checks/triggers.ts";
import type { MachineConfig } from "./machine_config.ts";
import { type ConfigProblem, formatPath, type Path, problemAt, type Report } from "./problem.ts";

/** The lists of a configuration whose entries are checked one by one. */
export type ListKey =
  | "components"
  | "services"
  | "modules"
  | "remotes"
  | "processes"
  | "packages"
  | "log"
  | "jobs"
  | "triggers";

/** An entry and where it stands in the document it comes from. */
export interface Located<T> {
  value: T;
  path: Path;
}

/** The entries of every list. */
export type LocatedLists = { [K in ListKey]: Located<MachineConfig[K][number]>[] };

/** What a check leaves of a configuration. */
export interface CheckedConfig {
  /** The configuration without the entries that are wrong. */
  config: MachineConfig;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

interface ListCheck<T> {
  check(value: T, path: Path, report: Report): void;
  /** What no two entries of the list may share; undefined when anything may be twice. */
  key?(value: T): string;
}

const LIST_CHECKS: { readonly [K in ListKey]: ListCheck<MachineConfig[K][number]> } = {
  components: { check: checkResource, key: (entry) => `${entry.api}/${entry.name}` },
  services: { check: checkResource, key: (entry) => `${entry.api}/${entry.name}` },
  modules: { check: checkModule, key: (entry) => entry.name },
  remotes: { check: checkRemote, key: (entry) => entry.name },
  processes: { check: checkProcess, key: (entry) => entry.id },
  packages: { check: checkPackage, key: (entry) => entry.name },
  log: { check: checkLogRule },
  jobs: { check: checkJob, key: (entry) => entry.name },
  triggers: { check: checkTrigger, key: (entry) => entry.name },
};

export const LIST_KEYS = Object.keys(LIST_CHECKS) as ListKey[];

/**
 * Checks a configuration that came as a message (`fromRobotConfig`) or was stored by this program.
 * An entry that is wrong is reported and left out; problems in cloud, network and auth are fatal.
 *
 * @param options.source default `cloud`: the cloud's names are needed, credentials are not
 */
export function checkMachineConfig(
  config: MachineConfig,
  options: { source?: ConfigSource } = {},
): CheckedConfig {
  const lists = Object.fromEntries(LIST_KEYS.map((key) => [
    key,
    config[key].map((value, at) => ({ value, path: [key, at] })),
  ])) as unknown as LocatedLists;
  const problems: ConfigProblem[] = [];
  const source = options.source ?? "cloud";
  const checked = checkLocated(config, lists, (problem) => problems.push(problem), { source });
  return { config: checked, problems, warnings: [] };
}

/**
 * Checks entries that know where they stand. A package or module that the cloud marked as bad
 * (`status.error`) is kept: the machine's status reports it.
 *
 * @param options.source undefined leaves the `cloud` block unchecked
 */
export function checkLocated(
  config: MachineConfig,
  lists: LocatedLists,
  report: Report,
  options: { source?: ConfigSource } = {},
): MachineConfig {
  const checked: MachineConfig = { ...config };
  const fatal: Report = (problem) => report({ ...problem, fatal: true });
  if (config.cloud && options.source) checkCloud(config.cloud, options.source, fatal);
  if (config.network) checkNetwork(config.network, fatal);
  if (config.auth) checkAuth(config.auth, fatal);
  if (
    config.maintenance && !isGood(checkMaintenance, config.maintenance, ["maintenance"], report)
  ) {
    delete checked.maintenance;
  }
  const network = config.agent?.network_configuration;
  const reboot = rebootTimeProblem(network, ["agent", "network_configuration"]);
  if (reboot) report(reboot);
  for (const key of LIST_KEYS) {
    Object.assign(checked, { [key]: goodEntries(key, lists, report) });
  }
  return checked;
}

function goodEntries<K extends ListKey>(
  key: K,
  lists: LocatedLists,
  report: Report,
): MachineConfig[K][number][] {
  const entries: Located<MachineConfig[K][number]>[] = lists[key];
  const { check, key: keyOf }: ListCheck<MachineConfig[K][number]> = LIST_CHECKS[key];
  const bad = new Set<number>();
  entries.forEach(({ value, path }, at) => {
    if (!isGood(check, value, path, report)) bad.add(at);
  });
  if (keyOf) {
    findDuplicates(entries.map(({ value }) => keyOf(value)), (at, first) => {
      const entry = entries[at];
      if (!entry || bad.has(at)) return;
      bad.add(at);
      const field = key === "processes" ? "id" : "name";
      const found = (entry.value as unknown as Record<string, unknown>)[field];
      const message = `${formatPath(entries[first]?.path ?? [])} has the same ${field}`;
      report(problemAt([...entry.path, field], found, message, `each ${field} once`));
    });
  }
  return entries.filter((_, at) => !bad.has(at)).map(({ value }) => value);
}

function isGood<T>(
  check: (value: T, path: Path, report: Report) => void,
  value: T,
  path: Path,
  report: Report,
): boolean {
  let good = true;
  check(value, path, (problem) => {
    good = false;
    report(problem);
  });
  return good;
}
