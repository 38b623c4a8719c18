/** The readings of all sensors, for whoever looks at the machine in its cloud. */
import { create } from "@bufbuild/protobuf";
import {
  type ResourceReadings,
  ResourceReadingsSchema,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { withDeadline } from "../../shared/time/deadline.ts";
import { toPlainJson } from "../apis/values.ts";
import { toError } from "../resources/errors.ts";
import type { ResourceManager } from "../resources/manager.ts";
import { hasReadings, type Sensor } from "../resources/resource.ts";

/** A sensor that takes longer is reported as an error. Milliseconds. */
const READING_TIMEOUT_MS = 2_000;

/** Reads every ready sensor once, all at the same time. */
export function readSensors(resources: ResourceManager, clock: Clock): Promise<ResourceReadings[]> {
  const sensors: { name: string; sensor: Sensor }[] = [];
  for (const { name, resource } of resources.ready()) {
    if (hasReadings(resource)) sensors.push({ name, sensor: resource });
  }
  return Promise.all(sensors.map(async ({ name, sensor }) => {
    try {
      const readings = await withDeadline(
        async (signal) => await sensor.getReadings(undefined, { signal }),
        { clock, deadlineMs: READING_TIMEOUT_MS, what: "the reading" },
      );
      return create(ResourceReadingsSchema, { name, readings: toPlainJson(readings) });
    } catch (error) {
      return create(ResourceReadingsSchema, { name, error: toError(error).message });
    }
  }));
}
