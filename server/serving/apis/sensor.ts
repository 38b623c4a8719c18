import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { getReadingsMethod } from "./get_readings.ts";
import { servedApi } from "./served_api.ts";

/** `rdk:component:sensor`. */
export const sensorApi = servedApi("rdk:component:sensor", SensorService, getReadingsMethod);
