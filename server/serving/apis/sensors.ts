import type { ServiceImpl } from "@connectrpc/connect";
import type { ResourceName } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { SensorsService } from "../../../shared/gen/viam/service/sensors/v1/sensors_pb.ts";
import type { SensorName, SensorsDriver } from "../../resources/readings/sensors_driver.ts";
import { resourceCheckKey } from "../access/call_rights.ts";
import { fullName, toResourceName } from "../../resources/graph/name.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { ResourceIndex } from "../../resources/graph/resource_index.ts";
import { callDriver, notSupported } from "./driver_call.ts";
import { toValueMap } from "./values.ts";

/** GetSensors and GetReadings of the sensors service. */
export function sensorsMethods(
  resources: ResourceIndex,
  api: string,
): Partial<ServiceImpl<typeof SensorsService>> {
  return {
    getSensors: ({ name }) =>
      callDriver(resources, api, name, (resource) => ({
        sensorNames: asSensors(resource, api, name).listSensors().map(toMessage),
      })),
    getReadings: ({ name, sensorNames, extra }, call) =>
      callDriver(resources, api, name, async (resource) => {
        const sensors = asSensors(resource, api, name);
        const check = call.values.get(resourceCheckKey);
        for (const each of sensorNames.map(fromMessage)) {
          check?.(each.name, fullName(each.api, each.name));
        }
        const read = await sensors.readSensors(sensorNames.map(fromMessage), extra, call);
        return {
          readings: read.map(({ sensor, readings }) => ({
            name: toMessage(sensor),
            readings: toValueMap(readings),
          })),
        };
      }),
  };
}

function asSensors(resource: Resource, api: string, name: string): SensorsDriver {
  const sensors = resource as Partial<SensorsDriver>;
  if (sensors.listSensors && sensors.readSensors) return sensors as SensorsDriver;
  throw notSupported(api, name, "GetSensors");
}

function toMessage({ api, name }: SensorName): ResourceName {
  return toResourceName(api, name);
}

function fromMessage({ namespace, type, subtype, name }: ResourceName): SensorName {
  return { api: `${namespace}:${type}:${subtype}`, name };
}
