import type { LocatedLists } from "./check.ts";
import type { MachineConfig } from "./machine_config.ts";
import { type ConfigProblem, ProblemList } from "./problem.ts";
import { type ReadConfig, readMachineConfigJson } from "./read_json.ts";

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

/**
 * Reads the forms of everything in a configuration.
 *
 * @param mostProblems ends the reading, and leaves `config` empty: for what is refused with one
 * problem already. Default: it is read to its end.
 */
export function readConfigOnce(json: unknown, mostProblems = Infinity): ConfigReading {
  const problems = new ProblemList(mostProblems);
  const warnings: ConfigProblem[] = [];
  let read: ReadConfig = readMachineConfigJson({}, problems.report, () => {});
  problems.until(() => {
    read = readMachineConfigJson(json, problems.report, (warning) => warnings.push(warning));
  });
  return { json, ...read, problems: problems.found, warnings };
}
