import { type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import {
  GetAngularVelocityResponseSchema,
  GetCompassHeadingResponseSchema,
  GetLinearAccelerationResponseSchema,
  GetLinearVelocityResponseSchema,
  GetOrientationResponseSchema,
  GetPositionResponseSchema,
  type MovementSensorService,
} from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext, Sensor } from "../../resources/graph/resource.ts";
import type { ReplayCloud } from "./replay_cloud.ts";

/**
 * A sensor whose readings were captured.
 *
 * @throws {ConnectError} when there is no data, or the cloud does not give it.
 */
export async function createReplaySensor(cloud: ReplayCloud, signal: AbortSignal): Promise<Sensor> {
  const recording = await cloud.found("Readings", signal);
  if (!recording) throw cloud.nothingFound("readings");
  return {
    async getReadings(_extra, { signal }) {
      const { readings } = await recording.next(signal);
      return isJsonObject(readings) ? readings : {};
    },
    close: () => cloud.close(),
  };
}

/**
 * A movement sensor whose quantities were captured, each in an order of its own: a call plays the
 * next value of its quantity.
 *
 * @throws {ConnectError} when there is no data, or the cloud does not give it.
 */
export async function createReplayMovementSensor(
  cloud: ReplayCloud,
  signal: AbortSignal,
): Promise<Driver<typeof MovementSensorService>> {
  const play = async <S extends DescMessage>(method: string, answer: S) => {
    const recording = await cloud.found(method, signal);
    const next = async (_request: unknown, { signal }: CallContext): Promise<MessageShape<S>> => {
      if (!recording) {
        throw new ConnectError(
          `${method} of ${cloud.attributes.source} was not captured`,
          Code.Unimplemented,
        );
      }
      return decoded(method, answer, await recording.next(signal));
    };
    return { has: recording !== undefined, next };
  };
  const [position, linear, angular, acceleration, compass, orientation] = await Promise.all([
    play("Position", GetPositionResponseSchema),
    play("LinearVelocity", GetLinearVelocityResponseSchema),
    play("AngularVelocity", GetAngularVelocityResponseSchema),
    play("LinearAcceleration", GetLinearAccelerationResponseSchema),
    play("CompassHeading", GetCompassHeadingResponseSchema),
    play("Orientation", GetOrientationResponseSchema),
  ]);
  const properties = {
    positionSupported: position.has,
    linearVelocitySupported: linear.has,
    angularVelocitySupported: angular.has,
    linearAccelerationSupported: acceleration.has,
    compassHeadingSupported: compass.has,
    orientationSupported: orientation.has,
  };
  if (!Object.values(properties).includes(true)) throw cloud.nothingFound("movement");
  return {
    getPosition: position.next,
    getLinearVelocity: linear.next,
    getAngularVelocity: angular.next,
    getLinearAcceleration: acceleration.next,
    getCompassHeading: compass.next,
    getOrientation: orientation.next,
    getProperties: () => properties,
    close: () => cloud.close(),
  };
}

function decoded<S extends DescMessage>(
  method: string,
  answer: S,
  data: JsonObject,
): MessageShape<S> {
  try {
    return fromJson(answer, data, { ignoreUnknownFields: true });
  } catch (error) {
    throw new ConnectError(
      `what was captured as ${method} is none: ${(error as Error).message}`,
      Code.DataLoss,
    );
  }
}
