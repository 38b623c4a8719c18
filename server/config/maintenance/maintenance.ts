/** Whether the machine's own sensor allows changes and restarts at the moment. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { MaintenanceConfig } from "../../../shared/config/operation.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";
import { hasReadings, type Sensor } from "../../resources/graph/resource.ts";

/** A reading that takes longer counts as "not now". Milliseconds. */
const READING_TIMEOUT_MS = 5_000;

export interface MaintenanceOptions {
  resources: Pick<ResourceManager, "index">;
  clock: Clock;
  log: Logger;
}

/** Whether the agent may restart the server now. */
export interface RestartPermission {
  readonly allowed: boolean;
  /** Why not; empty when it may. */
  readonly reason: string;
}

interface Verdict {
  allowed: boolean;
  /** Why the sensor could not be queried or did not answer clearly; empty when it did. */
  problem: string;
  /** The name leads to no resource at all: only another configuration can fix that. */
  isMisnamed?: boolean;
}

const ALLOWED: Verdict = { allowed: true, problem: "" };

/**
 * Asks the maintenance sensor. Without one everything is allowed; a reading that fails, lacks the
 * key or has something else than true there allows nothing. A name that leads nowhere allows
 * configurations, so that it can be repaired, and no restart: whoever wrote it wanted a window.
 *
 * It is queried every ten seconds while a configuration waits, and by the agent besides, so a
 * problem is reported when it begins or changes, and not each time.
 */
export class MaintenanceGate {
  #told = "";
  #asking: { maintenance: MaintenanceConfig; verdict: Promise<Verdict> } | undefined;

  constructor(private readonly options: MaintenanceOptions) {}

  /** Whether a configuration may be applied now, by the block that stands in it. */
  async allowsChanges(maintenance: MaintenanceConfig | undefined): Promise<boolean> {
    const { allowed, isMisnamed = false } = await this.#verdict(maintenance);
    return allowed || isMisnamed;
  }

  /** Whether the server may be restarted now, by the block of the applied configuration. */
  async allowsRestart(maintenance: MaintenanceConfig | undefined): Promise<RestartPermission> {
    const { allowed, problem } = await this.#verdict(maintenance);
    if (allowed) return { allowed, reason: "" };
    return { allowed, reason: problem === "" ? "its maintenance sensor forbids it" : problem };
  }

  async #verdict(maintenance: MaintenanceConfig | undefined): Promise<Verdict> {
    const verdict = maintenance ? await this.#ask(maintenance) : ALLOWED;
    const { problem } = verdict;
    if (problem !== "" && problem !== this.#told) {
      this.options.log.error(problem, { event: "maintenance_sensor_failed" });
    }
    this.#told = problem;
    return verdict;
  }

  /**
   * A caller that comes while the answer is awaited shares it: a slow sensor is not asked once
   * more.
   */
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
  const stays = "the server is not restarted until the configuration is fixed";
  if (!/^[^/:]+:[^/:]+:[^/:]+\/.+$/.test(name)) {
    const problem = `sensor_name ${name} in maintenance config is not in a supported format; ` +
      `allowed: rdk:component:sensor/NAME; ${stays}`;
    return { allowed: false, problem, isMisnamed: true };
  }
  const found = resources.index.peek(name);
  if (!found) {
    const problem = `could not find sensor named ${name}; ${stays}`;
    return { allowed: false, problem, isMisnamed: true };
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
