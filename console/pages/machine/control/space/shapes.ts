/** What takes up room: shapes of frames and obstacles, as the space view draws them. */
import type { Geometry, Pose } from "../../../../../shared/gen/viam/common/v1/common_pb.ts";
import type { FileKind } from "./files.ts";
import type { PoseLike } from "./view.ts";

/** What a shape is of; each has its colour. */
export type Role = "part" | "obstacle";

/** Sizes in millimetres; files have metres. */
export type Form =
  | { readonly kind: "box"; readonly x: number; readonly y: number; readonly z: number }
  | { readonly kind: "sphere"; readonly radius: number }
  /** From end to end. */
  | { readonly kind: "capsule"; readonly radius: number; readonly length: number }
  | { readonly kind: FileKind; readonly file: Uint8Array };

/** A shape where it is now. */
export interface Shape {
  readonly name: string;
  readonly role: Role;
  readonly form: Form;
  /** Poses one in another, the outermost seen from the world. */
  readonly at: readonly PoseLike[];
}

/** Larger files are not drawn; machines consider no larger ones either. */
export const LARGEST_FILE = 4 * 1024 * 1024;
/** In millimetres, farther than across the Earth: nothing else would be seen. */
const FARTHEST = 1e11;
/** A point has no size of its own. Millimetres. */
const POINT_RADIUS = 5;

export const ORIGIN: PoseLike = { x: 0, y: 0, z: 0, oX: 0, oY: 0, oZ: 1, theta: 0 };

/** A geometry as a shape; undefined for one that cannot be drawn. */
export function shapeOf(
  { center, label, geometryType }: Geometry,
  { role, name, in: around }: {
    readonly role: Role;
    readonly name: string;
    readonly in: readonly PoseLike[];
  },
): Shape | undefined {
  const form = formOf(geometryType);
  const own = center ?? ORIGIN;
  if (!form || !isSomewhere(own)) return undefined;
  return { name: label || name, role, form, at: [...around, own] };
}

function formOf({ case: kind, value }: Geometry["geometryType"]): Form | undefined {
  switch (kind) {
    case "box": {
      const { x = 0, y = 0, z = 0 } = value.dimsMm ?? {};
      return areSizes(x, y, z) ? { kind, x, y, z } : undefined;
    }
    case "sphere":
      if (!areSizes(value.radiusMm)) return undefined;
      return { kind, radius: value.radiusMm || POINT_RADIUS };
    case "capsule": {
      const { radiusMm: radius, lengthMm: length } = value;
      return areSizes(radius, length) ? { kind, radius, length } : undefined;
    }
    case "mesh": {
      // `ply`, `model/stl`, `.stl`
      const type = value.contentType.toLowerCase().replace(/^.*[/.]/, "");
      return type === "ply" || type === "stl" ? fileOf(type, value.mesh) : undefined;
    }
    case "pointcloud":
      return fileOf("pcd", value.pointCloud);
    default:
      return undefined;
  }
}

function fileOf(kind: FileKind, file: Uint8Array): Form | undefined {
  return file.length > 0 && file.length <= LARGEST_FILE ? { kind, file } : undefined;
}

function areSizes(...sizes: readonly number[]): boolean {
  return sizes.every((size) => size >= 0 && size <= FARTHEST);
}

/** Whether a pose has numbers only, and such that the picture has room for all. */
export function isSomewhere({ x, y, z, oX, oY, oZ, theta }: PoseLike | Pose): boolean {
  return [x, y, z].every((at) => Math.abs(at) <= FARTHEST) &&
    [oX, oY, oZ, theta].every(Number.isFinite);
}

/** Equal for forms that look the same: what was built for one is used again. */
export function keyOf(form: Form): string {
  if (!("file" in form)) return JSON.stringify(form);
  let hash = 0x811c9dc5;
  for (const byte of form.file) hash = Math.imul(hash ^ byte, 0x01000193);
  return `${form.kind} ${form.file.length} ${hash >>> 0}`;
}
