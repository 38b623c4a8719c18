/** What a resource reads, whatever its API: sensors, movement sensors, power sensors. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { CallContext, Readings, Resource } from "../graph/resource.ts";
import { hasReadings } from "../graph/resource.ts";
import { movementReadings } from "./movement_readings.ts";
import { powerReadings } from "./power_readings.ts";

/** Makes readings of what a driver's other methods answer. */
type Compose = (
  driver: Resource,
  name: string,
  extra: JsonObject | undefined,
  call: CallContext,
) => Promise<Readings>;

const COMPOSED: ReadonlyMap<string, Compose> = new Map([
  ["rdk:component:movement_sensor", movementReadings],
  ["rdk:component:power_sensor", powerReadings],
]);

/** APIs whose resources can be read. */
export const READABLE_APIS: readonly string[] = ["rdk:component:sensor", ...COMPOSED.keys()];

/**
 * The readings of a resource: the driver's own, or what its API makes of its other methods.
 *
 * @returns undefined when there is neither.
 */
export function readingsOf(
  api: string,
  name: string,
  resource: Resource,
  extra: JsonObject | undefined,
  call: CallContext,
): Readings | Promise<Readings> | undefined {
  if (hasReadings(resource)) return resource.getReadings(extra, call);
  return COMPOSED.get(api)?.(resource, name, extra, call);
}
