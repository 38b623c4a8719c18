import { parseLevel } from "../log/level.ts";
import { JOB_LOGGERS, MODULE_LOGGERS, RESOURCE_LOGGERS } from "../log/level_rules.ts";
import type { Level } from "../log/logger.ts";
import { resourceKey } from "./diff.ts";
import type { MachineConfig } from "./machine_config.ts";

/**
 * The levels that resources, modules and jobs have of their own, by the name of their logger.
 * Module and job may have the same name, so the whole name of the logger distinguishes them.
 */
export function ownLogLevels(
  config: Pick<MachineConfig, "components" | "services" | "modules" | "jobs">,
): Record<string, Level> {
  const wanted: [logger: string, level: string | undefined][] = [
    ...[...config.components, ...config.services].map((entry): [string, string | undefined] => [
      RESOURCE_LOGGERS + resourceKey(entry),
      entry.log_configuration?.level,
    ]),
    ...config.modules.map((entry): [string, string | undefined] => [
      MODULE_LOGGERS + entry.name,
      entry.log_level,
    ]),
    ...config.jobs.map((entry): [string, string | undefined] => [
      JOB_LOGGERS + entry.name,
      entry.log_configuration?.level,
    ]),
  ];
  return Object.fromEntries(
    wanted.flatMap(([logger, text]) => {
      const level = parseLevel(text ?? "");
      return level ? [[logger, level]] : [];
    }),
  );
}
