/** Kinematics in the family's JSON: spatial vector algebra (SVA), or Denavit-Hartenberg (DH). */
import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { ofAxisAngle, toOrientationVector } from "../../../shared/config/orientation.ts";
import { toGeometry } from "../../../shared/config/proto/geometry.ts";
import type { Geometry as GeometryConfig, Orientation } from "../../../shared/config/resources.ts";
import { fixed, moving, type Piece, requireFewPieces } from "./piece.ts";
import { NO_ROTATION, ofOrientation } from "./pose.ts";

/** The pieces of such a file; undefined for what is none. */
export function piecesOfJson(file: JsonValue | undefined): Piece[] | undefined {
  const { kinematic_param_type: form, links, joints, dhParams } = asObject(file);
  if (form === "DH" || (form === undefined && Array.isArray(dhParams))) {
    if (!Array.isArray(dhParams)) return undefined;
    requireFewPieces(2 * dhParams.length);
    return dhParams.map(asObject).flatMap(ofParameters);
  }
  if (!Array.isArray(links) || !Array.isArray(joints)) return undefined;
  requireFewPieces(links.length + joints.length);
  return [...joints.map(asObject).map(ofJoint), ...links.map(asObject).map(ofLink)];
}

type Fields = { readonly [key: string]: JsonValue };

function ofJoint({ id, parent, type, axis, min, max, geometry }: Fields): Piece {
  const place = { id: String(id), parent: String(parent), shapes: shapesOf(geometry, id) };
  if (type === "fixed") return fixed(place, { point: pointOf({}), rotation: NO_ROTATION });
  return moving(place, {
    ...{ slides: type === "prismatic", axis: pointOf(numbers(axis)) },
    ...limits(min, max),
  });
}

function ofLink({ id, parent, translation, orientation, geometry }: Fields): Piece {
  const vector = toOrientationVector({
    type: String(asObject(orientation)["type"] ?? "") as "",
    value: numbers(asObject(orientation)["value"]),
  });
  return fixed({ id: String(id), parent: String(parent), shapes: shapesOf(geometry, id) }, {
    point: pointOf(numbers(translation)),
    rotation: vector
      ? ofOrientation({ oX: vector.x, oY: vector.y, oZ: vector.z, theta: vector.theta })
      : NO_ROTATION,
  });
}

/** A joint around z, and the link behind it: along z by d, along x by a, around x by alpha. */
function ofParameters({ id, parent, a, d, alpha, min, max, geometry }: Fields): Piece[] {
  const joint = `${id}_j`;
  const number = (value: JsonValue | undefined) => typeof value === "number" ? value : 0;
  return [
    moving({ id: joint, parent: String(parent), shapes: [] }, {
      ...{ slides: false, axis: { x: 0, y: 0, z: 1 } },
      ...limits(min, max),
    }),
    fixed({ id: String(id), parent: joint, shapes: shapesOf(geometry, id) }, {
      point: { x: number(a), y: 0, z: number(d) },
      rotation: ofAxisAngle(number(alpha), 1, 0, 0),
    }),
  ];
}

function limits(min: JsonValue | undefined, max: JsonValue | undefined) {
  const isSet = typeof min === "number" && typeof max === "number" && min < max;
  return isSet ? { min, max } : {};
}

function shapesOf(value: JsonValue | undefined, id: JsonValue | undefined): Piece["shapes"] {
  if (!isJsonObject(value)) return [];
  const { type, translation, orientation } = value;
  const turn = asObject(orientation);
  const shape: GeometryConfig = {
    ...numbers(value),
    type: String(type ?? "") as "",
    ...texts(value),
    translation: numbers(translation),
    orientation: {
      type: String(turn["type"] ?? "") as "",
      value: numbers(turn["value"]) as NonNullable<Orientation["value"]>,
    },
  };
  const geometry = toGeometry(shape);
  if (!geometry) return [];
  geometry.label ||= String(id);
  return [geometry];
}

/** Of a mesh: the file in base64, and its kind. */
function texts({ mesh_data, mesh_content_type }: Fields): Partial<GeometryConfig> {
  return {
    ...(typeof mesh_data === "string" && { mesh_data }),
    ...(typeof mesh_content_type === "string" && { mesh_content_type }),
  };
}

function pointOf({ x = 0, y = 0, z = 0 }: Record<string, number>) {
  return { x, y, z };
}

function asObject(value: JsonValue | undefined): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** The entries that are numbers, by lower-case name. */
function numbers(value: JsonValue | undefined): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [name, entry] of Object.entries(asObject(value))) {
    if (typeof entry === "number") found[name.toLowerCase()] = entry;
  }
  return found;
}
