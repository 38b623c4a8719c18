import type { LocatedLists } from "./check.ts";
import type { MachineConfig } from "./machine_config.ts";
import type { ConfigProblem } from "./problem.ts";
import { readMachineConfigJson } from "./read_json.ts";

/**
 * A configuration read from JSON, which is the expensive part: what checks it, warns of it and uses
 * it can share one. Nobody changes it.
 */
export interface ConfigReading {
  readonly json: unknown;
  readonly config: MachineConfig;
  readonly lists: LocatedLists;
  /** Wrong forms; the entries are left out of `config`. */
  readonly problems: readonly ConfigProblem[];
  /** Unknown keys. */
  readonly warnings: readonly ConfigProblem[];
}

/** Reads the forms of everything in a configuration. */
export function readConfigOnce(json: unknown): ConfigReading {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const { config, lists } = readMachineConfigJson(
    json,
    (problem) => problems.push(problem),
    (warning) => warnings.push(warning),
  );
  return { json, config, lists, problems, warnings };
}
