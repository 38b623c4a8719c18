/** Whether the machine's own sensor allows changes at the moment. */
import type { MaintenanceConfig } from "../../shared/config/operation.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { withDeadline } from "../../shared/time/deadline.ts";
import { toError } from "../resources/errors.ts";
import type { ResourceManager } from "../resources/manager.ts";
import { hasReadings, type Sensor } from "../resources/resource.ts";

/** A reading that takes longer counts as "not now". Milliseconds. */
const READING_TIMEOUT_MS = 5_000;

export interface MaintenanceOptions {
  resources: Pick<ResourceManager, "index">;
  clock: Clock;
  log: Logger;
}

interface Verdict {
  allowed: boolean;
  /** Why the sensor could not be asked or did not answer clearly; empty when it did. */
  problem: string;
}

const ALLOWED: Verdict = { allowed: true, problem: "" };

/**
 * Asks the maintenance sensor. Without one, or when its name leads nowhere, everything is allowed,
 * so that a wrong name can be mended; a reading that fails, lacks the key or has something else
 * than true there allows nothing.
 *
 * It is asked every ten seconds while a configuration waits, and by the agent besides, so a
 * problem is told when it begins or changes, and not each time.
 */
export class MaintenanceGate {
  #told = "";
  #asking: { maintenance: MaintenanceConfig; verdict: Promise<Verdict> } | undefined;

  constructor(private readonly options: MaintenanceOptions) {}

  /** Whether changes are allowed now, by the block of the configuration that is to be applied. */
  async allows(maintenance: MaintenanceConfig | undefined): Promise<boolean> {
    const { allowed, problem } = maintenance ? await this.#ask(maintenance) : ALLOWED;
    if (problem !== "" && problem !== this.#told) this.options.log.error(problem);
    this.#told = problem;
    return allowed;
  }

  /** Who asks while the answer is awaited shares it: a slow sensor is not asked once more. */
  async #ask(maintenance: MaintenanceConfig): Promise<Verdict> {
    const { sensor_name, maintenance_allowed_key } = maintenance;
    const known = this.#asking?.maintenance;
    const isSame = known?.sensor_name === sensor_name &&
      known.maintenance_allowed_key === maintenance_allowed_key;
    if (this.#asking && isSame) return await this.#asking.verdict;
    const asking = { maintenance, verdict: askSensor(maintenance, this.options) };
    this.#asking = asking;
    try {
      return await asking.verdict;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
  }
}

async function askSensor(
  { sensor_name: name, maintenance_allowed_key: key }: MaintenanceConfig,
  { resources, clock }: MaintenanceOptions,
): Promise<Verdict> {
  if (!/^[^/:]+:[^/:]+:[^/:]+\/.+$/.test(name)) {
    return {
      allowed: true,
      problem: `sensor_name ${name} in maintenance config is not in a supported format`,
    };
  }
  const found = resources.index.peek(name);
  if (!found) {
    const problem = `could not find sensor named ${name}; maintenance is not limited by it`;
    return { allowed: true, problem };
  }
  const sensor = found.instance;
  if (!sensor || !hasReadings(sensor)) {
    const reason = found.error || "it is not a sensor that is ready";
    return { allowed: false, problem: `maintenance sensor ${name} could not be read: ${reason}` };
  }
  return await readSensor(sensor, name, key, clock);
}

async function readSensor(
  sensor: Sensor,
  name: string,
  key: string,
  clock: Clock,
): Promise<Verdict> {
  try {
    const readings = await withDeadline(
      async (signal) => await sensor.getReadings({}, { signal }),
      { clock, deadlineMs: READING_TIMEOUT_MS, what: "the reading" },
    );
    const value = Object.hasOwn(readings, key) ? readings[key] : undefined;
    if (typeof value === "boolean") return { allowed: value, problem: "" };
    const problem = value === undefined
      ? `maintenance sensor ${name} has no reading ${key}`
      : `maintenance sensor ${name}: ${key} is ${JSON.stringify(value)}, not true or false`;
    return { allowed: false, problem };
  } catch (error) {
    const problem = `maintenance sensor ${name} could not be read: ${toError(error).message}`;
    return { allowed: false, problem };
  }
}
