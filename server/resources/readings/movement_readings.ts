import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  GeoPointSchema,
  OrientationSchema,
  Vector3Schema,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type {
  GetPropertiesResponseSchema,
  MovementSensorService,
} from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Driver } from "../graph/driver.ts";
import type { CallContext, Readings } from "../graph/resource.ts";

const PACKAGE = "viam.component.movementsensor.v1";

type MovementSensor = Driver<typeof MovementSensorService>;
type Properties = MessageInitShape<typeof GetPropertiesResponseSchema>;

/**
 * All that a movement sensor measures, under the keys that SDKs know: position, altitude (m),
 * linear_velocity (m/s), linear_acceleration (m/s²), angular_velocity (°/s), compass (°),
 * orientation. `_type` says of what kind an object is. What the sensor does not measure is left out.
 */
export async function movementReadings(
  sensor: MovementSensor,
  name: string,
  extra: JsonObject | undefined,
  call: CallContext,
): Promise<Readings> {
  const request = <T extends string>(message: T) => ({
    $typeName: `${PACKAGE}.Get${message}Request` as const,
    name,
    ...(extra && { extra }),
  });
  const properties = await sensor.getProperties?.(request("Properties"), call);
  const parts = await Promise.all([
    part(properties, "positionSupported", async () => {
      const found = await sensor.getPosition?.(request("Position"), call);
      return found && {
        position: geoPoint(found.coordinate ?? {}),
        altitude: found.altitudeM ?? 0,
      };
    }),
    part(properties, "linearVelocitySupported", async () => {
      const found = await sensor.getLinearVelocity?.(request("LinearVelocity"), call);
      return found && { linear_velocity: vector(found.linearVelocity ?? {}, "vector3") };
    }),
    part(properties, "linearAccelerationSupported", async () => {
      const found = await sensor.getLinearAcceleration?.(request("LinearAcceleration"), call);
      return found && { linear_acceleration: vector(found.linearAcceleration ?? {}, "vector3") };
    }),
    part(properties, "angularVelocitySupported", async () => {
      const found = await sensor.getAngularVelocity?.(request("AngularVelocity"), call);
      return found && { angular_velocity: vector(found.angularVelocity ?? {}, "angular_velocity") };
    }),
    part(properties, "compassHeadingSupported", async () => {
      const found = await sensor.getCompassHeading?.(request("CompassHeading"), call);
      return found && { compass: found.value ?? 0 };
    }),
    part(properties, "orientationSupported", async () => {
      const found = await sensor.getOrientation?.(request("Orientation"), call);
      return found && { orientation: orientation(found.orientation ?? {}) };
    }),
  ]);
  return Object.assign({}, ...parts);
}

/** One measurement; nothing when the sensor reports that it has none, or cannot. */
async function part(
  properties: Properties | undefined,
  supported: Exclude<keyof Properties, `$${string}`>,
  read: () => Promise<Readings | undefined>,
): Promise<Readings> {
  if (properties && !properties[supported]) return {};
  try {
    return await read() ?? {};
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.Unimplemented) return {};
    throw error;
  }
}

function geoPoint({ latitude = 0, longitude = 0 }: MessageInitShape<typeof GeoPointSchema>) {
  return { lat: latitude, lng: longitude, _type: "geopoint" } satisfies JsonValue;
}

function vector(
  { x = 0, y = 0, z = 0 }: MessageInitShape<typeof Vector3Schema>,
  type: "vector3" | "angular_velocity",
) {
  return { x, y, z, _type: type } satisfies JsonValue;
}

function orientation(
  { oX = 0, oY = 0, oZ = 0, theta = 0 }: MessageInitShape<typeof OrientationSchema>,
) {
  return { ox: oX, oy: oY, oz: oZ, theta, _type: "orientation_vector_degrees" } satisfies JsonValue;
}
