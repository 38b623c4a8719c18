/** Spheres, capsules and boxes in space, and whether two of them touch. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Geometry, Mesh } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { type MeshBox, meshBox } from "../../resources/frames/mesh.ts";
import {
  compose,
  IDENTITY,
  inverse,
  ofPoseMessage,
  type Pose,
  transformed,
  type Vector,
} from "../../resources/frames/pose.ts";

/** A sphere is a capsule without length. Millimetres. */
export type Solid =
  | { readonly kind: "capsule"; readonly a: Vector; readonly b: Vector; readonly radius: number }
  | { readonly kind: "box"; readonly pose: Pose; readonly half: Vector };

/** Halvings when the nearest point of a line to a box is looked for: to a thousandth of a line. */
const THIRDS = 24;

/**
 * A geometry, seen from the frame that its center is in. A mesh counts as the box around it.
 *
 * @throws {ConnectError} for one that is no sphere, capsule, box or mesh.
 */
export function solidOf({ center, geometryType, label }: Geometry): Solid {
  const pose = ofPoseMessage(center);
  const size = (value: number) => {
    if (value >= 0 && Number.isFinite(value)) return value;
    throw new ConnectError(`the geometry ${label} has a size of ${value}`, Code.InvalidArgument);
  };
  const { x = 0, y = 0, z = 0, oX = 0, oY = 0, oZ = 1, theta = 0 } = center ?? {};
  if (![x, y, z, oX, oY, oZ, theta].every(Number.isFinite)) {
    throw new ConnectError(`the geometry ${label} is nowhere`, Code.InvalidArgument);
  }
  switch (geometryType.case) {
    case "sphere": {
      const radius = size(geometryType.value.radiusMm);
      return { kind: "capsule", a: pose.point, b: pose.point, radius };
    }
    case "capsule": {
      const { radiusMm, lengthMm } = geometryType.value;
      const half = Math.max(0, size(lengthMm) / 2 - size(radiusMm));
      const [a, b] = [half, -half].map((z) => transformed(pose, { x: 0, y: 0, z }));
      return { kind: "capsule", a: a!, b: b!, radius: radiusMm };
    }
    case "box": {
      const { x = 0, y = 0, z = 0 } = geometryType.value.dimsMm ?? {};
      return { kind: "box", pose, half: { x: size(x) / 2, y: size(y) / 2, z: size(z) / 2 } };
    }
    case "mesh": {
      const { center, half } = boxAround(geometryType.value, `the geometry ${label}`);
      return { kind: "box", pose: compose(pose, { ...IDENTITY, point: center }), half };
    }
  }
  throw new ConnectError(
    `the geometry ${label} is ${geometryType.case ?? "nothing"}; spheres, capsules, boxes and ` +
      "meshes are considered",
    Code.Unimplemented,
  );
}

/**
 * The box around a mesh.
 *
 * @param what in words, for the error.
 * @throws {ConnectError} UNIMPLEMENTED for a file that cannot be read.
 */
export function boxAround(mesh: Mesh, what: string): MeshBox {
  try {
    return meshBox(mesh);
  } catch (error) {
    throw new ConnectError(`${what} is a mesh that ${toError(error).message}`, Code.Unimplemented);
  }
}

/** The same solid, seen from where `pose` is seen from. */
export function placed(solid: Solid, pose: Pose): Solid {
  if (solid.kind === "box") return { ...solid, pose: compose(pose, solid.pose) };
  return { ...solid, a: transformed(pose, solid.a), b: transformed(pose, solid.b) };
}

/** False for a solid that was placed by numbers that are none: it would touch nothing. */
export function isSomewhere(solid: Solid): boolean {
  const { center, radius } = ballAround(solid);
  return Number.isFinite(center.x + center.y + center.z + radius);
}

/** @param margin true, too, when they are so near; of two boxes also when they are a bit farther. */
export function touch(one: Solid, other: Solid, margin = 0): boolean {
  const [a, b] = [ballAround(one), ballAround(other)];
  if (Math.sqrt(square(minus(a.center, b.center))) > a.radius + b.radius + margin) return false;
  if (one.kind === "box") {
    return other.kind === "box"
      ? boxesTouch(one, other, margin)
      : capsuleTouchesBox(other, one, margin);
  }
  if (other.kind === "box") return capsuleTouchesBox(one, other, margin);
  return linesApart(one, other) <= one.radius + other.radius + margin;
}

/** How far a solid reaches from where it is seen from. */
export function farthestPoint(solid: Solid): number {
  const { center, radius } = ballAround(solid);
  return Math.sqrt(square(center)) + radius;
}

type Capsule = Extract<Solid, { kind: "capsule" }>;
type Box = Extract<Solid, { kind: "box" }>;

function ballAround(solid: Solid): { readonly center: Vector; readonly radius: number } {
  if (solid.kind === "box") {
    return { center: solid.pose.point, radius: Math.hypot(...Object.values(solid.half)) };
  }
  const center = between(solid.a, solid.b, 0.5);
  return { center, radius: Math.sqrt(square(minus(solid.a, center))) + solid.radius };
}

/** The distance between the middle lines of two capsules. */
function linesApart({ a, b }: Capsule, { a: c, b: d }: Capsule): number {
  const [u, v, w] = [minus(b, a), minus(d, c), minus(a, c)];
  const [uu, uv, vv, uw, vw] = [dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)];
  const determinant = uu * vv - uv * uv;
  let s = determinant > 1e-9 ? clamped((uv * vw - vv * uw) / determinant) : 0;
  const t = vv > 1e-12 ? clamped((uv * s + vw) / vv) : 0;
  s = uu > 1e-12 ? clamped((uv * t - uw) / uu) : 0;
  return Math.sqrt(square(minus(between(a, b, s), between(c, d, t))));
}

/** The distance of a point to a box is convex along a line, so that thirds lead to the least. */
function capsuleTouchesBox(capsule: Capsule, { pose, half }: Box, margin: number): boolean {
  const { a, b } = capsule;
  const radius = capsule.radius + margin;
  const back = inverse(pose);
  const [from, to] = [transformed(back, a), transformed(back, b)];
  const away = (share: number) => {
    const { x, y, z } = between(from, to, share);
    return Math.hypot(
      Math.max(0, Math.abs(x) - half.x),
      Math.max(0, Math.abs(y) - half.y),
      Math.max(0, Math.abs(z) - half.z),
    );
  };
  let [low, high] = [0, 1];
  if (Math.min(away(0), away(1)) <= radius) return true;
  for (let n = 0; n < THIRDS; n++) {
    const [first, second] = [low + (high - low) / 3, high - (high - low) / 3];
    const [near, far] = [away(first), away(second)];
    if (Math.min(near, far) <= radius) return true;
    if (near < far) high = second;
    else low = first;
  }
  return false;
}

/** Boxes are apart when some axis separates them: one of their sides', or one across two of them. */
function boxesTouch(one: Box, other: Box, margin: number): boolean {
  const [a, b] = [axesOf(one), axesOf(other)];
  const way = minus(other.pose.point, one.pose.point);
  const across = a.flatMap((x) => b.map((y) => cross(x, y)));
  return [...a, ...b, ...across].every((axis) => {
    if (square(axis) < 1e-12) return true;
    const reach = (axes: readonly Vector[], { x, y, z }: Vector) =>
      Math.abs(dot(axis, axes[0]!)) * x + Math.abs(dot(axis, axes[1]!)) * y +
      Math.abs(dot(axis, axes[2]!)) * z;
    const between = Math.abs(dot(axis, way)) - margin * Math.sqrt(square(axis));
    return between <= reach(a, one.half) + reach(b, other.half);
  });
}

function axesOf({ pose }: Box): Vector[] {
  return [{ x: 1, y: 0, z: 0 }, { x: 0, y: 1, z: 0 }, { x: 0, y: 0, z: 1 }]
    .map((axis) => minus(transformed(pose, axis), pose.point));
}

function clamped(share: number): number {
  return Math.max(0, Math.min(1, share));
}

function between(a: Vector, b: Vector, share: number): Vector {
  return {
    x: a.x + (b.x - a.x) * share,
    y: a.y + (b.y - a.y) * share,
    z: a.z + (b.z - a.z) * share,
  };
}

function minus(a: Vector, b: Vector): Vector {
  return { x: a.x - b.x, y: a.y - b.y, z: a.z - b.z };
}

function dot(a: Vector, b: Vector): number {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

function square(a: Vector): number {
  return dot(a, a);
}

function cross(a: Vector, b: Vector): Vector {
  return { x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x };
}
