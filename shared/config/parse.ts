import { type CheckedConfig, checkLocated } from "./check.ts";
import type { ConfigSource } from "./checks/network.ts";
import { type ConfigReading, readConfigOnce } from "./reading.ts";

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
  return parseReading(readConfigOnce(json), options);
}

/** {@link parseMachineConfig} of what was read already. */
export function parseReading(
  { config, lists, problems: wrongForms, warnings }: ConfigReading,
  { source = "file" }: { source?: ConfigSource } = {},
): CheckedConfig {
  const problems = [...wrongForms];
  const checked = checkLocated(config, lists, (problem) => problems.push(problem), { source });
  return { config: checked, problems, warnings: [...warnings] };
}
