/** Checks of list entries that are not resources, each entry for itself. */
import { parseLevel } from "../../log/level.ts";
import { LEVELS } from "../../log/logger.ts";
import { LONGEST_MODULE_NAME, LONGEST_RESOURCE_NAME } from "../forms.ts";
import { logPatternError } from "../log_pattern.ts";
import type { ModuleConfig, PackageConfig } from "../modules.ts";
import type { JobConfig, LogRule, MaintenanceConfig } from "../operation.ts";
import { isRegistryModule } from "../reload.ts";
import { type Path, problemAt, type Report } from "../problem.ts";
import type { ProcessConfig, RemoteConfig } from "../remotes.ts";
import { parseResourceName } from "../resource_name.ts";
import { parseSchedule, SCHEDULE_ALLOWED } from "../schedule.ts";
import { parseSignal, SIGNAL_ALLOWED } from "../stop_signal.ts";
import { checkDuration } from "./durations.ts";
import { checkName } from "./names.ts";
import { checkFrame, checkLogLevel } from "./resources.ts";

const PACKAGE_TYPES = ["ml_model", "module", "slam_map", "archive"] as const;
export const CREDENTIAL_TYPES = ["api-key", "robot-secret", "robot-location-secret"] as const;

/** Checks an entry of `modules`. */
export function checkModule(module: ModuleConfig, path: Path, report: Report): void {
  checkName(module.name, [...path, "name"], report, { longest: LONGEST_MODULE_NAME });
  if (module.name === "parent") {
    report(problemAt([...path, "name"], module.name, "this name is reserved", "another name"));
  }
  const isRegistry = isRegistryModule(module);
  if (module.reload_enabled && !module.reload_path) {
    const at = [...path, "reload_path"];
    const message = "reload_enabled needs the program that is to run";
    report(problemAt(at, module.reload_path, message, "a path on the machine"));
  }
  if (!isRegistry && !module.reload_enabled && (module.executable_path ?? "") === "") {
    report(
      problemAt(
        [...path, "executable_path"],
        module.executable_path,
        "a local module needs its program",
        "the path of a program",
      ),
    );
  }
  if (isRegistry && !module.module_id && !module.executable_path) {
    report(
      problemAt(
        [...path, "module_id"],
        module.module_id,
        "a registry module needs its id",
        "namespace:name of the module",
      ),
    );
  }
  checkLogLevel(module.log_level, [...path, "log_level"], report);
  const timeout = module.first_run_timeout;
  const timeoutPath = [...path, "first_run_timeout"];
  if (typeof timeout === "string") checkDuration(timeout, timeoutPath, report);
  else if (timeout !== undefined && timeout < 0) {
    report(problemAt(timeoutPath, timeout, "the duration is negative", "0 or more"));
  }
}

/** Checks an entry of `packages`. */
export function checkPackage(entry: PackageConfig, path: Path, report: Report): void {
  checkName(entry.name, [...path, "name"], report, { longest: LONGEST_MODULE_NAME });
  if (entry.package === "") {
    report(
      problemAt(
        [...path, "package"],
        entry.package,
        "the package id is empty",
        "<organisation>/<name>",
      ),
    );
  }
  if (!PACKAGE_TYPES.some((type) => type === entry.type)) {
    const allowed = PACKAGE_TYPES.join(", ");
    report(problemAt([...path, "type"], entry.type, "this is not a package type", allowed));
  }
}

/** Checks an entry of `remotes`. */
export function checkRemote(remote: RemoteConfig, path: Path, report: Report): void {
  checkName(remote.name, [...path, "name"], report, { longest: LONGEST_RESOURCE_NAME });
  if ((remote.address ?? "") === "") {
    const at = [...path, "address"];
    report(problemAt(at, remote.address, "the address is missing", "host or host:port"));
  }
  if (remote.frame) {
    if ((remote.frame.parent ?? "") === "") {
      const at = [...path, "frame", "parent"];
      report(problemAt(at, remote.frame.parent, "the parent is missing", "a frame, e.g. world"));
    }
    checkFrame(remote.frame, [...path, "frame"], report);
  }
  const type = remote.auth?.credentials?.type;
  if (type !== undefined && !CREDENTIAL_TYPES.some((known) => known === type)) {
    const at = [...path, "auth", "credentials", "type"];
    report(problemAt(at, type, "this is not a credential type", CREDENTIAL_TYPES.join(", ")));
  }
  for (const key of ["connection_check_interval", "reconnect_interval"] as const) {
    checkDuration(remote[key], [...path, key], report);
  }
}

/** Checks an entry of `processes`. */
export function checkProcess(entry: ProcessConfig, path: Path, report: Report): void {
  for (const key of ["id", "name"] as const) {
    if (entry[key] === "") report(problemAt([...path, key], entry[key], `the ${key} is empty`));
  }
  const signal = entry.stop_signal;
  if (signal !== undefined && parseSignal(signal) === undefined) {
    report(problemAt([...path, "stop_signal"], signal, "this is not a signal", SIGNAL_ALLOWED));
  }
  checkDuration(entry.stop_timeout, [...path, "stop_timeout"], report);
}

/** Checks an entry of `jobs`. */
export function checkJob(job: JobConfig, path: Path, report: Report): void {
  for (const key of ["name", "resource", "method"] as const) {
    if (job[key] === "") report(problemAt([...path, key], job[key], `the ${key} is empty`));
  }
  const reason = scheduleProblem(job.schedule);
  if (reason !== undefined) {
    report(problemAt([...path, "schedule"], job.schedule, reason, SCHEDULE_ALLOWED));
  }
  checkLogLevel(job.log_configuration?.level, [...path, "log_configuration", "level"], report);
}

function scheduleProblem(schedule: string): string | undefined {
  try {
    parseSchedule(schedule);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Checks an entry of `log`. */
export function checkLogRule(rule: LogRule, path: Path, report: Report): void {
  const reason = rule.pattern === "" ? "it is empty" : logPatternError(rule.pattern);
  if (reason !== undefined) {
    report(
      problemAt(
        [...path, "pattern"],
        rule.pattern,
        `the pattern does not compile: ${reason}`,
        "a regular expression, for example rdk:component:*",
      ),
    );
  }
  if (parseLevel(rule.level) === undefined) {
    const allowed = LEVELS.join(", ");
    report(problemAt([...path, "level"], rule.level, "this is not a log level", allowed));
  }
}

/** Checks the `maintenance` object. */
export function checkMaintenance(
  maintenance: MaintenanceConfig,
  path: Path,
  report: Report,
): void {
  const key = maintenance.maintenance_allowed_key;
  if (key === "") {
    const at = [...path, "maintenance_allowed_key"];
    report(problemAt(at, key, "the key is empty", "a key of the sensor's reading"));
  }
  if (!isSensorName(maintenance.sensor_name)) {
    report(
      problemAt(
        [...path, "sensor_name"],
        maintenance.sensor_name,
        "this is not the full name of a sensor",
        "rdk:component:sensor/<name>",
      ),
    );
  }
}

function isSensorName(text: string): boolean {
  try {
    const { namespace, type, subtype } = parseResourceName(text).api;
    return namespace === "rdk" && type === "component" && subtype === "sensor";
  } catch {
    return false;
  }
}
