/**
 * Orientations in the forms a configuration may use, and their conversion to an orientation vector
 * in degrees, the only form a message's pose has. Angles of euler_angles and axis_angles are radians.
 */
import type { Orientation } from "./resources.ts";

/** Where the local z axis points, and the rotation about it in degrees. */
export interface OrientationVector {
  x: number;
  y: number;
  z: number;
  theta: number;
}

/** A rotation; of any length but 0 where it is read. */
export interface Quaternion {
  w: number;
  x: number;
  y: number;
  z: number;
}

const DEGREE = Math.PI / 180;
/** Closer than this to the z axis a direction counts as the pole, where longitude is 0. */
export const POLE = 1e-4;

/** Numbers of an orientation by lower-case name; missing ones are 0. */
export function orientationNumbers(orientation: Orientation): (name: string) => number {
  const entries = Object.entries(orientation.value ?? {});
  const byName = new Map(entries.map(([name, number]) => [name.toLowerCase(), number]));
  return (name) => byName.get(name) ?? 0;
}

/** The orientation as a vector in degrees; undefined for no rotation. */
export function toOrientationVector(
  orientation: Orientation | undefined,
): OrientationVector | undefined {
  if (orientation === undefined) return undefined;
  const n = orientationNumbers(orientation);
  switch (orientation.type) {
    case undefined:
    case "":
      return undefined;
    case "ov_degrees":
      return { x: n("x"), y: n("y"), z: n("z"), theta: n("th") };
    case "ov_radians":
      return { x: n("x"), y: n("y"), z: n("z"), theta: n("th") / DEGREE };
    case "quaternion":
      return vectorOf({ w: n("w"), x: n("x"), y: n("y"), z: n("z") });
    case "axis_angles":
      return vectorOf(ofAxisAngle(n("th"), n("x"), n("y"), n("z")));
    case "euler_angles":
      return vectorOf(ofEulerAngles(n("roll"), n("pitch"), n("yaw")));
  }
}

/** The rotation about an axis by an angle in radians. */
export function ofAxisAngle(angle: number, x: number, y: number, z: number): Quaternion {
  const length = Math.hypot(x, y, z);
  if (length === 0) return { w: 1, x: 0, y: 0, z: 0 };
  const sine = Math.sin(angle / 2) / length;
  return { w: Math.cos(angle / 2), x: x * sine, y: y * sine, z: z * sine };
}

/** Rotation about z by yaw, then the new y by pitch, then the new x by roll. Radians. */
export function ofEulerAngles(roll: number, pitch: number, yaw: number): Quaternion {
  const about = (axis: "x" | "y" | "z", angle: number) => {
    return { w: Math.cos(angle / 2), x: 0, y: 0, z: 0, [axis]: Math.sin(angle / 2) };
  };
  return multiply(multiply(about("z", yaw), about("y", pitch)), about("x", roll));
}

/** The rotation `b`, seen from where `a` has turned to. */
export function multiply(a: Quaternion, b: Quaternion): Quaternion {
  return {
    w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
    y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
    z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
  };
}

/**
 * An orientation vector is the direction (longitude, latitude) of the local z axis after the
 * rotation Rz(longitude) · Ry(latitude) · Rz(theta), so theta follows from the turned x axis.
 * Undefined for numbers that are no rotation.
 */
export function vectorOf(rotation: Quaternion): OrientationVector | undefined {
  const length = Math.hypot(rotation.w, rotation.x, rotation.y, rotation.z);
  if (length === 0) return undefined;
  const w = rotation.w / length;
  const x = rotation.x / length;
  const y = rotation.y / length;
  const z = rotation.z / length;
  // Third column of the rotation matrix: the z axis turned. Third row: z parts of x and y turned.
  const zx = 2 * (x * z + w * y);
  const zy = 2 * (y * z - w * x);
  const zz = 1 - 2 * (x * x + y * y);
  if (1 - Math.abs(zz) < POLE) {
    // At the pole longitude and theta turn about the same axis; all of it is called theta.
    const xx = 1 - 2 * (y * y + z * z);
    const xy = 2 * (x * y + w * z);
    const theta = zz > 0 ? Math.atan2(xy, xx) : Math.atan2(xy, -xx);
    return { x: zx, y: zy, z: zz, theta: theta / DEGREE };
  }
  const xz = 2 * (x * z - w * y);
  const yz = 2 * (y * z + w * x);
  return { x: zx, y: zy, z: zz, theta: Math.atan2(yz, -xz) / DEGREE };
}
