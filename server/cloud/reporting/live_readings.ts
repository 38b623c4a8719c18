/** The readings of all sensors, for whoever looks at the machine in its cloud. */
import { create } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import {
  type ResourceReadings,
  ResourceReadingsSchema,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { toPlainJson } from "../../serving/apis/values.ts";
import { READABLE_APIS, readingsOf } from "../../resources/readings/readings_of.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";

/** A sensor that takes longer is reported as an error. Milliseconds. */
const READING_TIMEOUT_MS = 2_000;

/** Reads every ready sensor once, all at the same time. */
export function readSensors(resources: ResourceManager, clock: Clock): Promise<ResourceReadings[]> {
  const sensors = [...resources.ready()].filter(({ api }) => READABLE_APIS.includes(api));
  return Promise.all(sensors.map(async ({ api, name, resource }) => {
    try {
      const readings = await withDeadline(
        async (signal) => await readingsOf(api, name, resource, undefined, { signal }) ?? {},
        { clock, deadlineMs: READING_TIMEOUT_MS, what: "the reading" },
      );
      return create(ResourceReadingsSchema, { name, readings: toPlainJson(readings) });
    } catch (error) {
      return create(ResourceReadingsSchema, { name, error: toError(error).message });
    }
  }));
}
