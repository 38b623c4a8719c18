import { type CheckedConfig, checkLocated } from "./check.ts";
import type { ConfigSource } from "./checks/network.ts";
import type { ConfigProblem } from "./problem.ts";
import { readMachineConfigJson } from "./read_json.ts";

/**
 * Reads a machine configuration as tolerantly as possible: an entry that is wrong is reported with
 * its JSON path and left out, everything else is used. Only problems in `cloud`, `network` and
 * `auth` (and a document that is no object) are fatal. Unknown keys are kept and warned about.
 *
 * This loads zod. A server that has the configuration as a message uses `fromRobotConfig` and
 * `checkMachineConfig` instead, which do the same without it.
 *
 * @param options.source default `file`: a `cloud` block must hold an id and credentials
 */
export function parseMachineConfig(
  json: unknown,
  options: { source?: ConfigSource } = {},
): CheckedConfig {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const report = (problem: ConfigProblem) => problems.push(problem);
  const { config, lists } = readMachineConfigJson(json, report, (one) => warnings.push(one));
  const source = options.source ?? "file";
  const checked = checkLocated(config, lists, report, { source });
  return { config: checked, problems, warnings };
}
