/** Frames and geometries between JSON and messages. */
import { create } from "@bufbuild/protobuf";
import {
  type Frame as FrameMessage,
  FrameSchema,
  type Orientation as OrientationMessage,
  Orientation_AxisAnglesSchema,
  Orientation_EulerAnglesSchema,
  Orientation_NoOrientationSchema,
  Orientation_OrientationVectorDegreesSchema,
  Orientation_OrientationVectorRadiansSchema,
  Orientation_QuaternionSchema,
  OrientationSchema,
} from "../../gen/viam/app/v1/robot_pb.ts";
import { orientationNumbers } from "../orientation.ts";
import type { Frame, Orientation, Translation } from "../resources.ts";
import { fromGeometry, toGeometry } from "./geometry.ts";
import { compact } from "./values.ts";

/** The message of a frame. */
export function toFrame(frame: Frame | undefined): FrameMessage | undefined {
  if (frame === undefined) return undefined;
  const translation = frame.translation;
  const message = create(FrameSchema, {
    parent: frame.parent ?? "",
    translation: { x: translation?.x ?? 0, y: translation?.y ?? 0, z: translation?.z ?? 0 },
  });
  if (frame.orientation) message.orientation = toOrientation(frame.orientation);
  const geometry = toGeometry(frame.geometry);
  if (geometry) message.geometry = geometry;
  return message;
}

/** The frame of a message; `id` is not part of messages. */
export function fromFrame(message: FrameMessage | undefined): Frame | undefined {
  if (message === undefined) return undefined;
  return compact({
    parent: message.parent,
    translation: fromTranslation(message.translation),
    orientation: fromOrientation(message.orientation),
    geometry: fromGeometry(message.geometry),
  });
}

/** A translation; undefined for none. */
function fromTranslation(
  from: { x: number; y: number; z: number } | undefined,
): Translation | undefined {
  return from && { x: from.x, y: from.y, z: from.z };
}

function toOrientation(orientation: Orientation): OrientationMessage {
  const n = orientationNumbers(orientation);
  const vector = () => ({ theta: n("th"), x: n("x"), y: n("y"), z: n("z") });
  switch (orientation.type) {
    case undefined:
    case "":
      return create(OrientationSchema, {
        type: { case: "noOrientation", value: create(Orientation_NoOrientationSchema) },
      });
    case "ov_radians": {
      const value = create(Orientation_OrientationVectorRadiansSchema, vector());
      return create(OrientationSchema, { type: { case: "vectorRadians", value } });
    }
    case "ov_degrees": {
      const value = create(Orientation_OrientationVectorDegreesSchema, vector());
      return create(OrientationSchema, { type: { case: "vectorDegrees", value } });
    }
    case "axis_angles": {
      const value = create(Orientation_AxisAnglesSchema, vector());
      return create(OrientationSchema, { type: { case: "axisAngles", value } });
    }
    case "euler_angles": {
      const angles = { roll: n("roll"), pitch: n("pitch"), yaw: n("yaw") };
      const value = create(Orientation_EulerAnglesSchema, angles);
      return create(OrientationSchema, { type: { case: "eulerAngles", value } });
    }
    case "quaternion": {
      const numbers = { w: n("w"), x: n("x"), y: n("y"), z: n("z") };
      const value = create(Orientation_QuaternionSchema, numbers);
      return create(OrientationSchema, { type: { case: "quaternion", value } });
    }
  }
}

function fromOrientation(message: OrientationMessage | undefined): Orientation | undefined {
  if (message === undefined) return undefined;
  const { type } = message;
  switch (type.case) {
    case undefined:
      return undefined;
    case "noOrientation":
      return { type: "" };
    case "vectorRadians":
      return { type: "ov_radians", value: vectorValue(type.value) };
    case "vectorDegrees":
      return { type: "ov_degrees", value: vectorValue(type.value) };
    case "axisAngles":
      return { type: "axis_angles", value: vectorValue(type.value) };
    case "eulerAngles": {
      const { roll, pitch, yaw } = type.value;
      return { type: "euler_angles", value: { roll, pitch, yaw } };
    }
    case "quaternion": {
      const { w, x, y, z } = type.value;
      return { type: "quaternion", value: { w, x, y, z } };
    }
  }
}

function vectorValue(from: { theta: number; x: number; y: number; z: number }) {
  return { x: from.x, y: from.y, z: from.z, th: from.theta };
}
