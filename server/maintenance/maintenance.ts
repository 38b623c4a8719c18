/** Whether the machine's own sensor allows changes at the moment. */
import type { MaintenanceConfig } from "../../shared/config/operation.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { withDeadline } from "../../shared/time/deadline.ts";
import { toError } from "../resources/errors.ts";
import type { ResourceManager } from "../resources/manager.ts";
import { hasReadings } from "../resources/resource.ts";

/** A reading that takes longer counts as "not now". Milliseconds. */
const READING_TIMEOUT_MS = 5_000;

export interface MaintenanceOptions {
  resources: ResourceManager;
  clock: Clock;
  log: Logger;
}

/**
 * Asks the maintenance sensor. Without one, or when its name leads nowhere, everything is allowed,
 * so that a wrong name can be mended; a reading that fails, lacks the key or has something else
 * than true there allows nothing.
 */
export async function maintenanceAllows(
  maintenance: MaintenanceConfig | undefined,
  options: MaintenanceOptions,
): Promise<boolean> {
  if (!maintenance) return true;
  const { log } = options;
  const { sensor_name: name, maintenance_allowed_key: key } = maintenance;
  if (!/^[^/:]+:[^/:]+:[^/:]+\/.+$/.test(name)) {
    log.error(`sensor_name ${name} in maintenance config is not in a supported format`);
    return true;
  }
  const found = options.resources.index.peek(name);
  if (!found) {
    log.error(`could not find sensor named ${name}; maintenance is not limited by it`);
    return true;
  }
  try {
    if (!found.instance || !hasReadings(found.instance)) {
      throw new Error(found.error || "it is not a sensor that is ready");
    }
    const sensor = found.instance;
    const readings = await withDeadline(
      async (signal) => await sensor.getReadings({}, { signal }),
      { clock: options.clock, deadlineMs: READING_TIMEOUT_MS, what: "the reading" },
    );
    const value = readings[key];
    if (value === true) return true;
    if (value !== false) {
      log.error(
        `maintenance sensor ${name}: ${key} is ${JSON.stringify(value)}, not true or false`,
      );
    }
  } catch (error) {
    log.error(`maintenance sensor ${name} could not be read: ${toError(error).message}`);
  }
  return false;
}
