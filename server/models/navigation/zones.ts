/** Areas on the ground that a base keeps out of, or is slower in. */
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import {
  type GeoGeometry,
  GeoGeometrySchema,
  GeometrySchema,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { metersFrom, type Place, placeAt } from "../motion/footprint.ts";
import { distanceToLine, type Point } from "../motion/path.ts";

/** The shape of a zone; metres and degrees. */
export type Area =
  | { readonly kind: "circle"; readonly center: Place; readonly radius: number }
  | {
    readonly kind: "box";
    readonly center: Place;
    /** East to west, and north to south, before it is turned. */
    readonly width: number;
    readonly length: number;
    /** Clockwise. */
    readonly heading: number;
  }
  | { readonly kind: "polygon"; readonly points: readonly Place[] };

const MM = 1_000;
const MOST_CORNERS = 40;
/** Of the walls around a polygon. Millimetres. */
const WALL_MM = 10;

/**
 * Reads `{type: "circle", center, radius_m}`, `{type: "box", center, width_m, length_m, heading}`,
 * `{type: "polygon", points}`, where center and points are `{latitude, longitude}`, or a GeoJSON
 * Polygon without holes.
 *
 * @throws {ConnectError} INVALID_ARGUMENT.
 */
export function areaOf(geometry: JsonObject): Area {
  const { type, center, coordinates, points } = geometry;
  switch (type) {
    case "circle":
      return {
        kind: "circle",
        center: placeOf(center, "center"),
        radius: size(geometry, "radius_m"),
      };
    case "box":
      return {
        kind: "box",
        center: placeOf(center, "center"),
        width: size(geometry, "width_m"),
        length: size(geometry, "length_m"),
        heading: typeof geometry["heading"] === "number" ? geometry["heading"] : 0,
      };
    case "polygon":
      return polygon(points, (point, path) => placeOf(point, path));
    case "Polygon": {
      const [ring, hole] = Array.isArray(coordinates) ? coordinates : [];
      if (hole !== undefined) throw wrong("coordinates: holes are not kept to; leave them out");
      const isClosed = Array.isArray(ring) && ring.length > 1 &&
        JSON.stringify(ring[0]) === JSON.stringify(ring.at(-1));
      return polygon(isClosed ? ring.slice(0, -1) : ring, (point, path) => {
        const [longitude, latitude] = Array.isArray(point) ? point : [];
        return placeOf({ latitude: latitude ?? null, longitude: longitude ?? null }, path);
      });
    }
  }
  throw wrong(
    `type: found ${JSON.stringify(type)}, allowed: "circle", "box", "polygon", "Polygon"`,
  );
}

function polygon(points: JsonValue | undefined, read: (point: JsonValue, path: string) => Place) {
  if (!Array.isArray(points) || points.length < 3 || points.length > MOST_CORNERS) {
    throw wrong(`points: 3 to ${MOST_CORNERS} are needed`);
  }
  return {
    kind: "polygon" as const,
    points: points.map((point, at) => read(point, `points[${at}]`)),
  };
}

function placeOf(value: JsonValue | undefined, path: string): Place {
  const { latitude, longitude } = isJsonObject(value) ? value : {};
  if (
    typeof latitude === "number" && typeof longitude === "number" &&
    Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
  ) return { latitude, longitude };
  throw wrong(`${path}: a latitude and a longitude in degrees are needed`);
}

function size(geometry: JsonObject, name: string): number {
  const value = geometry[name];
  if (typeof value === "number" && value > 0 && value < 1e6) return value;
  throw wrong(`${name}: metres, more than 0, are needed`);
}

function wrong(reason: string): ConnectError {
  return new ConnectError(`geometry.${reason}`, Code.InvalidArgument);
}

/** Whether a place is inside, or not farther from it than the margin. Metres. */
export function isInside(area: Area, place: Place, margin = 0): boolean {
  switch (area.kind) {
    case "circle": {
      const { x, y } = metersFrom(area.center, place);
      return Math.hypot(x, y) <= area.radius + margin;
    }
    case "box": {
      const { x, y } = metersFrom(area.center, place);
      const angle = area.heading * Math.PI / 180;
      const [right, ahead] = [
        x * Math.cos(angle) - y * Math.sin(angle),
        x * Math.sin(angle) + y * Math.cos(angle),
      ];
      return Math.abs(right) <= area.width / 2 + margin &&
        Math.abs(ahead) <= area.length / 2 + margin;
    }
    case "polygon": {
      const corners = area.points.map((point) => metersFrom(place, point));
      return surroundsOrigin(corners) || (margin > 0 &&
        corners.some((corner, at) =>
          distanceToLine({ x: 0, y: 0 }, corner, corners[(at + 1) % corners.length]!) <= margin
        ));
    }
  }
}

function surroundsOrigin(corners: readonly Point[]): boolean {
  let isIn = false;
  corners.forEach((a, at) => {
    const b = corners[(at + 1) % corners.length]!;
    if (a.y > 0 === b.y > 0) return;
    if (a.x - a.y * (b.x - a.x) / (b.y - a.y) > 0) isIn = !isIn;
  });
  return isIn;
}

/** What a motion service has to drive around: of a polygon the walls. */
export function obstaclesOf(area: Area, label: string): GeoGeometry[] {
  switch (area.kind) {
    case "circle":
      return [create(GeoGeometrySchema, {
        location: area.center,
        geometries: [create(GeometrySchema, {
          label,
          center: { oZ: 1 },
          geometryType: { case: "sphere", value: { radiusMm: area.radius * MM } },
        })],
      })];
    case "box":
      return [box(area.center, { x: area.width, y: area.length }, -area.heading, label)];
    case "polygon":
      return area.points.map((from, at) => {
        const to = metersFrom(from, area.points[(at + 1) % area.points.length]!);
        const middle = placeAt(from, { x: to.x / 2, y: to.y / 2 });
        const sides = { x: Math.hypot(to.x, to.y), y: WALL_MM / MM };
        return box(middle, sides, Math.atan2(to.y, to.x) * 180 / Math.PI, label);
      });
  }
}

function box(location: Place, sides: Point, theta: number, label: string): GeoGeometry {
  return create(GeoGeometrySchema, {
    location,
    geometries: [create(GeometrySchema, {
      label,
      center: { oZ: 1, theta },
      geometryType: {
        case: "box",
        value: { dimsMm: { x: sides.x * MM, y: sides.y * MM, z: MM } },
      },
    })],
  });
}
