import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type GeoGeometry,
  type Geometry,
  GeometrySchema,
  type Mesh,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { compose, IDENTITY, ofPoseMessage, toPoseMessage } from "../../resources/frames/pose.ts";
import { boxAround } from "../arm_planning/solids.ts";
import { disc, type Obstacle, type Point, rectangle, shrunk } from "./path.ts";

const METERS_PER_DEGREE = 6_371_008.8 * Math.PI / 180;
const MM = 1_000;
/** Looking for a way takes longer with each. */
export const MOST_OBSTACLES = 50;

const MOST_BOUNDS = 20;
/** By what share of its radius the corners of a disc's polygon stand out. */
const OUTSIDE = 1 / Math.cos(Math.PI / 8) - 1;

/** A place on the globe. */
export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** Metres east and north of an origin that is not far. */
export function metersFrom(origin: Place, { latitude, longitude }: Place): Point {
  const turned = ((longitude - origin.longitude + 540) % 360 + 360) % 360 - 180;
  return {
    x: turned * METERS_PER_DEGREE * Math.cos(origin.latitude * Math.PI / 180),
    y: (latitude - origin.latitude) * METERS_PER_DEGREE,
  };
}

/** The place so many metres east and north of an origin: the inverse of {@link metersFrom}. */
export function placeAt(origin: Place, { x, y }: Point): Place {
  const narrowed = Math.max(1e-9, Math.cos(origin.latitude * Math.PI / 180));
  const longitude = origin.longitude + x / METERS_PER_DEGREE / narrowed;
  return {
    latitude: origin.latitude + y / METERS_PER_DEGREE,
    longitude: ((longitude + 540) % 360 + 360) % 360 - 180,
  };
}

/** What obstacles of the globe take up, seen from an origin. @throws {ConnectError} */
export function geoObstacles(
  obstacles: readonly GeoGeometry[],
  origin: Place,
  grown: number,
): Obstacle[] {
  const all = obstacles.flatMap(({ location, geometries }) => {
    const middle = metersFrom(origin, location ?? { latitude: 0, longitude: 0 });
    return geometries.map((geometry) => footprint(geometry, middle, grown));
  });
  return bounded(all);
}

/**
 * Where a base has to stay, seen from an origin.
 *
 * @param smaller by how much the regions shrink: by the radius of the base.
 * @throws {ConnectError} INVALID_ARGUMENT for regions that are tilted, too small, or too many.
 */
export function geoBounds(
  regions: readonly GeoGeometry[],
  origin: Place,
  smaller: number,
): Obstacle[] {
  const all = regions.flatMap(({ location, geometries }) => {
    const middle = metersFrom(origin, location ?? { latitude: 0, longitude: 0 });
    return geometries.map((geometry) => {
      const { center, geometryType, label } = geometry;
      const refuse = (why: string) =>
        new ConnectError(`bounding region ${label} ${why}`, Code.InvalidArgument);
      if (center && (center.oX !== 0 || center.oY !== 0)) throw refuse("is tilted");
      // The box around a mesh is larger than the mesh.
      if (geometryType.case === "mesh") throw refuse("is a mesh");
      const isRound = geometryType.case !== "box";
      const polygon = footprint(geometry, middle, 0);
      // The polygon of a disc lies outside of it.
      const outer = isRound
        ? OUTSIDE * (geometryType.value as { radiusMm: number }).radiusMm / MM
        : 0;
      const left = shrunk(polygon, smaller + outer);
      if (left.length >= 3) return left;
      throw refuse("is smaller than the base");
    });
  });
  if (all.length <= MOST_BOUNDS) return all;
  throw new ConnectError(
    `there are ${all.length} bounding regions; at most ${MOST_BOUNDS} are considered`,
    Code.InvalidArgument,
  );
}

/** What obstacles of a map take up. @throws {ConnectError} */
export function mapObstacles(obstacles: readonly Geometry[], grown: number): Obstacle[] {
  return bounded(obstacles.map((geometry) => footprint(geometry, { x: 0, y: 0 }, grown)));
}

function bounded(all: Obstacle[]): Obstacle[] {
  if (all.length <= MOST_OBSTACLES) return all;
  throw new ConnectError(
    `there are ${all.length} obstacles; at most ${MOST_OBSTACLES} are considered`,
    Code.InvalidArgument,
  );
}

/**
 * On the ground, whatever its height. What is tilted counts as the circle around it, a mesh as the
 * box around it. Metres.
 *
 * @throws {ConnectError}
 */
export function footprint(geometry: Geometry, at: Point, grown: number): Obstacle {
  if (geometry.geometryType.case === "mesh") return footprint(boxOf(geometry), at, grown);
  const { center, geometryType, label } = geometry;
  const { x = 0, y = 0, oX = 0, oY = 0, oZ = 1, theta = 0 } = center ?? {};
  const middle = { x: at.x + x / MM, y: at.y + y / MM };
  const isUpright = oX === 0 && oY === 0;
  const round = (radiusMm: number) => disc(middle, size(radiusMm) / MM, grown);
  const size = (value: number) => {
    if (Number.isFinite(value) && value >= 0) return value;
    throw new ConnectError(`obstacle ${label} has a size of ${value}`, Code.InvalidArgument);
  };
  if (![middle.x, middle.y, theta].every(Number.isFinite)) {
    throw new ConnectError(`obstacle ${label} is nowhere`, Code.InvalidArgument);
  }
  switch (geometryType.case) {
    case "sphere":
      return round(geometryType.value.radiusMm);
    case "capsule": {
      const { radiusMm, lengthMm } = geometryType.value;
      return round(isUpright ? radiusMm : Math.max(radiusMm, lengthMm / 2));
    }
    case "box": {
      const { x: width = 0, y: depth = 0, z: height = 0 } = geometryType.value.dimsMm ?? {};
      if (!isUpright) return round(Math.hypot(size(width), size(depth), size(height)) / 2);
      const sides = { x: size(width) / MM, y: size(depth) / MM };
      return rectangle(middle, sides, oZ < 0 ? -theta : theta, grown);
    }
  }
  throw new ConnectError(
    `obstacle ${label} is ${geometryType.case ?? "nothing"}; spheres, boxes, capsules and meshes ` +
      "are considered",
    Code.InvalidArgument,
  );
}

/** The box around a mesh. */
function boxOf({ center, geometryType, label }: Geometry): Geometry {
  const box = boxAround(geometryType.value as Mesh, `obstacle ${label}`);
  const middle = compose(ofPoseMessage(center), { ...IDENTITY, point: box.center });
  const { x, y, z } = box.half;
  return create(GeometrySchema, {
    ...{ label, center: toPoseMessage(middle) },
    geometryType: { case: "box", value: { dimsMm: { x: 2 * x, y: 2 * y, z: 2 * z } } },
  });
}
