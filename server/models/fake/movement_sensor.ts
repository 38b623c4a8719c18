import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { attributes, number, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Quality of a position that was fixed by the phase of the carrier; NMEA 0183, sentence GGA. */
const RTK_FIXED = 4;

export interface FakeMovementSensorAttributes {
  latitude: number | undefined;
  longitude: number | undefined;
  altitude_m: number | undefined;
  compass_deg: number | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:movement_sensor`: always the same place and motion. */
export const fakeMovementSensorModel: Model<FakeMovementSensorAttributes> = {
  api: "rdk:component:movement_sensor",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakeMovementSensorAttributes>({
    latitude: optional(number("Degrees north. Default 40.7.", { min: -90, max: 90 })),
    longitude: optional(number("Degrees east. Default -73.98.", { min: -180, max: 180 })),
    altitude_m: optional(number("Metres. Default 50.5.")),
    compass_deg: optional(
      number("Degrees clockwise from north. Default 25.", { min: 0, max: 360 }),
    ),
  }),
  construct({ attributes }): Driver<typeof MovementSensorService> {
    const { latitude = 40.7, longitude = -73.98, altitude_m: altitudeM = 50.5 } = attributes;
    const compassDeg = attributes.compass_deg ?? 25;
    return {
      getPosition: () => ({ coordinate: { latitude, longitude }, altitudeM }),
      getLinearVelocity: () => ({ linearVelocity: { x: 0, y: 5.4, z: 0 } }),
      getLinearAcceleration: () => ({ linearAcceleration: { x: 2.2, y: 4.5, z: 2 } }),
      getAngularVelocity: () => ({ angularVelocity: { x: 0, y: 0, z: 1 } }),
      getCompassHeading: () => ({ value: compassDeg }),
      getOrientation: () => ({ orientation: { oX: 0, oY: 0, oZ: 1, theta: 0 } }),
      getAccuracy: () => ({
        accuracy: {},
        positionHdop: 0,
        positionVdop: 0,
        positionNmeaGgaFix: RTK_FIXED,
        compassDegreesError: 0,
      }),
      getProperties: () => ({
        positionSupported: true,
        linearVelocitySupported: true,
        linearAccelerationSupported: true,
        angularVelocitySupported: true,
        compassHeadingSupported: true,
        orientationSupported: true,
      }),
      doCommand: echo,
    };
  },
};
