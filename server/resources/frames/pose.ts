/** Places and directions of frames, and how one follows from another. */
import {
  multiply,
  ofAxisAngle,
  POLE,
  type Quaternion,
  vectorOf,
} from "../../../shared/config/orientation.ts";
import type {
  Orientation,
  Pose as PoseMessage,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";

/** A point or a direction. */
export interface Vector {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** Where a frame stands in another, and how it is turned there. */
export interface Pose {
  /** Millimetres. */
  readonly point: Vector;
  /** Of length 1. */
  readonly rotation: Readonly<Quaternion>;
}

const DEGREE = Math.PI / 180;

export const NO_ROTATION: Readonly<Quaternion> = { w: 1, x: 0, y: 0, z: 0 };

/** The same place, not turned. */
export const IDENTITY: Pose = { point: { x: 0, y: 0, z: 0 }, rotation: NO_ROTATION };

/** `inner`, which is seen from `outer`, as it is seen from where `outer` is seen from. */
export function compose(outer: Pose, inner: Pose): Pose {
  return {
    point: transformed(outer, inner.point),
    rotation: unit(multiply(outer.rotation, inner.rotation)),
  };
}

/** Where the one that saw `pose` stands, seen from `pose`. */
export function inverse({ point, rotation }: Pose): Pose {
  const back = conjugate(rotation);
  const { x, y, z } = turned(back, point);
  return { point: { x: -x, y: -y, z: -z }, rotation: back };
}

/** A point that is seen from `pose`, as it is seen from where `pose` is seen from. */
export function transformed({ point, rotation }: Pose, inner: Vector): Vector {
  const { x, y, z } = turned(rotation, inner);
  return { x: point.x + x, y: point.y + y, z: point.z + z };
}

/** The pose of a message; a message without one stands for no move and no turn. */
export function ofPoseMessage(message: Omit<PoseMessage, "$typeName"> | undefined): Pose {
  if (!message) return IDENTITY;
  const { x, y, z } = message;
  return { point: { x, y, z }, rotation: ofOrientation(message) };
}

/** The fields of a message. */
export function toPoseMessage({ point, rotation }: Pose) {
  const { x: oX, y: oY, z: oZ, theta } = vectorOf(rotation) ?? { x: 0, y: 0, z: 1, theta: 0 };
  return { ...point, oX, oY, oZ, theta };
}

/** The rotation of an orientation vector; one without a direction points along z. */
export function ofOrientation(
  { oX, oY, oZ, theta }: Pick<Orientation, "oX" | "oY" | "oZ" | "theta">,
): Quaternion {
  const length = Math.hypot(oX, oY, oZ);
  const height = length === 0 ? 1 : Math.max(-1, Math.min(1, oZ / length));
  const longitude = 1 - Math.abs(height) < POLE ? 0 : Math.atan2(oY, oX);
  return unit(
    multiply(
      multiply(ofAxisAngle(longitude, 0, 0, 1), ofAxisAngle(Math.acos(height), 0, 1, 0)),
      ofAxisAngle(theta * DEGREE, 0, 0, 1),
    ),
  );
}

/** The same rotation with length 1; none for numbers that are no rotation. */
export function unit(rotation: Quaternion): Quaternion {
  const { w, x, y, z } = rotation;
  const length = Math.hypot(w, x, y, z);
  if (!(length > 0 && length < Infinity)) return NO_ROTATION;
  return { w: w / length, x: x / length, y: y / length, z: z / length };
}

/** Between two rotations, the shortest way; at 0 the first, at 1 the second. */
export function slerp(from: Quaternion, to: Quaternion, share: number): Quaternion {
  const dot = from.w * to.w + from.x * to.x + from.y * to.y + from.z * to.z;
  const angle = Math.acos(Math.min(1, Math.abs(dot)));
  const sine = Math.sin(angle);
  const [a, b] = sine < 1e-9
    ? [1 - share, share]
    : [Math.sin((1 - share) * angle) / sine, Math.sin(share * angle) / sine];
  const sign = dot < 0 ? -b : b;
  return unit({
    w: from.w * a + to.w * sign,
    x: from.x * a + to.x * sign,
    y: from.y * a + to.y * sign,
    z: from.z * a + to.z * sign,
  });
}

function turned(rotation: Quaternion, { x, y, z }: Vector): Vector {
  const around = multiply(multiply(rotation, { w: 0, x, y, z }), conjugate(rotation));
  return { x: around.x, y: around.y, z: around.z };
}

function conjugate({ w, x, y, z }: Quaternion): Quaternion {
  return { w, x: -x, y: -y, z: -z };
}
