/** Positions of the API, and what is kept of them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  Position,
  PositionSchema,
} from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import { finite } from "../drivers/motion.ts";
import type { Spot } from "./kept.ts";

export function positionMessage(
  { latitude, longitude, heading }: Spot,
): MessageInitShape<typeof PositionSchema> {
  return {
    value: {
      case: "geoPose",
      value: {
        location: { latitude, longitude },
        ...(heading !== undefined && {
          orientation: { case: "heading" as const, value: heading },
        }),
      },
    },
  };
}

/** @throws {ConnectError} INVALID_ARGUMENT for one that is missing, or on a map. */
export function spotOf(position: Position | undefined, field: string): Spot {
  const { value } = position ?? {};
  if (value?.case !== "geoPose" || !value.value.location) {
    const found = value?.case === "pose" ? "a pose on a map" : "nothing";
    throw new ConnectError(
      `${field}: found ${found}, allowed: a geo_pose with a location, as the map type is GPS`,
      Code.InvalidArgument,
    );
  }
  const { location: { latitude, longitude }, orientation } = value.value;
  degrees(latitude, 90, `${field}.latitude`);
  degrees(longitude, 180, `${field}.longitude`);
  if (orientation.case === "orientationVector") {
    throw new ConnectError(
      `${field}.orientation_vector: bases are turned by a heading only`,
      Code.InvalidArgument,
    );
  }
  return {
    ...{ latitude, longitude },
    ...(orientation.case === "heading" && {
      heading: finite(orientation.value, `${field}.heading`),
    }),
  };
}

/** @throws {ConnectError} INVALID_ARGUMENT. */
export function degrees(value: number, most: number, field: string): number {
  if (Math.abs(value) <= most) return value;
  throw new ConnectError(
    `${field}: found ${value}, allowed: degrees from -${most} to ${most}`,
    Code.InvalidArgument,
  );
}
