import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { hasReadings, type Readings } from "../resources/resource.ts";
import { commonMethods, driverError, notSupported } from "./driver_call.ts";
import { servedApi } from "./served_api.ts";
import { toValueMap } from "./values.ts";

/** `rdk:component:sensor`. GetReadings is the most called method of a machine; it is kept lean. */
export const sensorApi = servedApi("rdk:component:sensor", SensorService, (resources, api) => ({
  ...commonMethods(api, resources),
  async getReadings({ name, extra }, call) {
    const node = resources.acquire(api, name);
    try {
      const sensor = node.instance!;
      if (!hasReadings(sensor)) throw notSupported(api, name, "GetReadings");
      const readings: Readings = await sensor.getReadings(extra, call);
      return {
        $typeName: "viam.common.v1.GetReadingsResponse",
        readings: toValueMap(readings),
      };
    } catch (error) {
      throw driverError(error);
    } finally {
      resources.release(node);
    }
  },
}));
