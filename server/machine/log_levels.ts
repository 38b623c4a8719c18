/** Levels of single loggers, from the configuration. Pure. */
import { resourceKey } from "../../shared/config/diff.ts";
import type { MachineConfig } from "../../shared/config/machine_config.ts";
import { parseLevel } from "../../shared/log/level.ts";
import type { Level } from "../../shared/log/logger.ts";

/** Levels by logger, or by full name for resources; levels that are none are left out. */
export function logLevels(
  config: Pick<MachineConfig, "components" | "services" | "modules" | "jobs">,
): Record<string, Level> {
  const levels: Record<string, Level> = {};
  const add = (logger: string, text: string | undefined) => {
    const level = parseLevel(text ?? "");
    if (level) levels[logger] = level;
  };
  for (const entry of [...config.components, ...config.services]) {
    add(resourceKey(entry), entry.log_configuration?.level);
  }
  for (const { name, log_level } of config.modules) add(`rdk.modmanager.${name}`, log_level);
  for (const { name, log_configuration } of config.jobs) {
    add(`rdk.job_manager.${name}`, log_configuration?.level);
  }
  return levels;
}
