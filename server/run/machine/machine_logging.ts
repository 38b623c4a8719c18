import { ownLogLevels } from "../../../shared/config/log_levels.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import { secretValues } from "../../../shared/config/secrets.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { writeModuleLog } from "../../modules/manager/module_log.ts";
import type { ModuleManager } from "../../modules/manager/module_manager.ts";
import type { MachineContext } from "./machine_context.ts";

type LoggingContext = Pick<
  MachineContext,
  "clock" | "cloud" | "diagnostics" | "log" | "logSettings" | "switches"
>;

/** Logs as the configuration specifies, and none of its secrets. */
export function followLogging(context: LoggingContext, config: MachineConfig): void {
  const { logSettings, log, switches, cloud, diagnostics } = context;
  const isDebug = switches.debug || config.debug;
  logSettings.setDebugMode(isDebug);
  logSettings.setDeduplication(!config.disable_log_deduplication && !isDebug);
  for (const { message } of logSettings.setPatterns(config.log)) log.warn(message);
  logSettings.setResourceLevels(ownLogLevels(config));
  const own = cloud ? [cloud.credentials.credentials.payload.reveal()] : [];
  logSettings.setSecrets([...secretValues(config), ...own]);
  void diagnostics?.follow(config);
}

/** Lines of modules go below their loggers, those of other callers below the server's own. */
export function writeCallerLog(
  { log, logSettings, clock }: LoggingContext,
  modules: ModuleManager | undefined,
  entries: readonly LogEntry[],
  moduleName: string | undefined,
): void {
  if (modules && moduleName !== undefined) return modules.writeLog(entries, moduleName);
  const write = (line: Parameters<typeof logSettings.forward>[0]) => logSettings.forward(line);
  writeModuleLog(entries, moduleName ?? "", { root: log.name, write, clock });
}
