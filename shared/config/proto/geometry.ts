import { create } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import {
  type Geometry as GeometryMessage,
  GeometrySchema,
  type Pose,
  PoseSchema,
} from "../../gen/viam/common/v1/common_pb.ts";
import { toOrientationVector } from "../orientation.ts";
import type { Geometry } from "../resources.ts";
import { compact } from "./values.ts";

type Shape = GeometryMessage["geometryType"];

/** The message of a geometry; undefined when its numbers describe none. */
export function toGeometry(geometry: Geometry | undefined): GeometryMessage | undefined {
  if (geometry === undefined) return undefined;
  const geometryType = toShape(geometry);
  if (geometryType === undefined) return undefined;
  return create(GeometrySchema, {
    center: toPose(geometry),
    geometryType,
    label: geometry.label ?? "",
  });
}

/** The geometry of a message; undefined for none. A point cloud has no form in JSON. */
export function fromGeometry(message: GeometryMessage | undefined): Geometry | undefined {
  if (message === undefined) return undefined;
  const shape = fromShape(message.geometryType);
  return shape && { ...shape, ...fromPose(message.center), ...compact({ label: message.label }) };
}

function toShape(geometry: Geometry): Parameters<typeof shapeOf>[0] | undefined {
  const { x = 0, y = 0, z = 0, r = 0, l = 0 } = geometry;
  switch (geometry.type || guessType(geometry)) {
    case "box":
      return shapeOf({ case: "box", value: { dimsMm: { x, y, z } } });
    case "sphere":
      return shapeOf({ case: "sphere", value: { radiusMm: r } });
    case "point":
      return shapeOf({ case: "sphere", value: { radiusMm: 0 } });
    case "capsule":
      return shapeOf({ case: "capsule", value: { radiusMm: r, lengthMm: l } });
    case "mesh":
      return shapeOf({
        case: "mesh",
        value: {
          contentType: geometry.mesh_content_type ?? "",
          mesh: base64Decode(geometry.mesh_data ?? ""),
          ...(geometry.mesh_file_path
            ? { originalFileSourcePathDiagnostic: geometry.mesh_file_path }
            : {}),
        },
      });
    default:
      return undefined;
  }
}

type ShapeInit = Exclude<
  NonNullable<Parameters<typeof create<typeof GeometrySchema>>[1]>,
  GeometryMessage
>["geometryType"];

function shapeOf(shape: ShapeInit): ShapeInit {
  return shape;
}

/** Without a type the numbers say what is meant, as the reference reads them. */
function guessType({ x = 0, y = 0, z = 0, r = 0, l = 0 }: Geometry): Geometry["type"] {
  if (Math.hypot(x, y, z) > 0) return "box";
  if (l !== 0) return "capsule";
  return r > 0 ? "sphere" : "";
}

function fromShape(shape: Shape): Geometry | undefined {
  switch (shape.case) {
    case "box": {
      const { x = 0, y = 0, z = 0 } = shape.value.dimsMm ?? {};
      return { type: "box", x, y, z };
    }
    case "sphere":
      return shape.value.radiusMm === 0
        ? { type: "point" }
        : { type: "sphere", r: shape.value.radiusMm };
    case "capsule":
      return { type: "capsule", r: shape.value.radiusMm, l: shape.value.lengthMm };
    case "mesh":
      return {
        type: "mesh",
        mesh_content_type: shape.value.contentType,
        mesh_data: base64Encode(shape.value.mesh),
        ...compact({ mesh_file_path: shape.value.originalFileSourcePathDiagnostic }),
      };
    case "pointcloud":
    case undefined:
      return undefined;
  }
}

function toPose({ translation, orientation }: Geometry): Pose {
  const vector = toOrientationVector(orientation) ?? { x: 0, y: 0, z: 1, theta: 0 };
  return create(PoseSchema, {
    x: translation?.x ?? 0,
    y: translation?.y ?? 0,
    z: translation?.z ?? 0,
    oX: vector.x,
    oY: vector.y,
    oZ: vector.z,
    theta: vector.theta,
  });
}

function fromPose(pose: Pose | undefined): Pick<Geometry, "translation" | "orientation"> {
  if (pose === undefined) return {};
  const { x, y, z, oX, oY, oZ, theta } = pose;
  const isMoved = x !== 0 || y !== 0 || z !== 0;
  const isTurned = oX !== 0 || oY !== 0 || theta !== 0 || (oZ !== 0 && oZ !== 1);
  return {
    ...(isMoved ? { translation: { x, y, z } } : {}),
    ...(isTurned
      ? { orientation: { type: "ov_degrees" as const, value: { x: oX, y: oY, z: oZ, th: theta } } }
      : {}),
  };
}
