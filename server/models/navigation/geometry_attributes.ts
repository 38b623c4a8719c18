import { create } from "@bufbuild/protobuf";
import { toGeometry } from "../../../shared/config/proto/geometry.ts";
import type { Geometry as GeometryConfig, Orientation } from "../../../shared/config/resources.ts";
import { GeoGeometrySchema, type Geometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import {
  anyText,
  type Check,
  converted,
  listOf,
  mapOf,
  number,
  objectOf,
  oneOf,
  optional,
} from "../../resources/graph/attributes.ts";

const FORMS = ["", "box", "sphere", "capsule", "point", "mesh"] as const;
const ORIENTATIONS = [
  "",
  "ov_degrees",
  "ov_radians",
  "euler_angles",
  "axis_angles",
  "quaternion",
] as const;

const millimetres = (description: string) => optional(number(description));

/** A geometry in the form that frames have, checked without the schemas of configurations. */
const geometry: Check<GeometryConfig> = objectOf<GeometryConfig>({
  type: optional(oneOf(FORMS, "Empty or none: taken from the numbers that are given.")),
  x: millimetres("Box: size along x in millimetres."),
  y: millimetres("Box: size along y in millimetres."),
  z: millimetres("Box: size along z in millimetres."),
  r: millimetres("Sphere and capsule: radius in millimetres."),
  l: millimetres("Capsule: length in millimetres."),
  mesh_data: optional(anyText("Mesh: the file, in base64.")),
  mesh_content_type: optional(anyText("Mesh: kind of file, for example stl.")),
  mesh_file_path: optional(anyText("Mesh: where the file came from.")),
  translation: optional(objectOf<NonNullable<GeometryConfig["translation"]>>({
    x: millimetres("Millimetres along x."),
    y: millimetres("Millimetres along y."),
    z: millimetres("Millimetres along z."),
  }, "Offset from the place.")),
  orientation: optional(objectOf<Orientation>({
    type: optional(oneOf(ORIENTATIONS, "Form of the orientation. Empty means no rotation.")),
    value: optional(mapOf(number("One of its numbers."), "The numbers of that form.")),
  }, "Rotation at the place.")),
  label: optional(anyText("Name of the geometry.")),
}, "A geometry as in a frame: box, sphere or capsule, in mm, and its translation.");

const shape: Check<Geometry> = converted(
  geometry,
  "a geometry: type, its sizes in mm (x, y, z, r, l), translation, orientation, label",
  toGeometry,
);

/** Geometries at a place on the globe. */
export const region = converted(
  objectOf<{ location: { latitude: number; longitude: number }; geometries: Geometry[] }>({
    location: objectOf<{ latitude: number; longitude: number }>({
      latitude: number("Degrees north.", { min: -90, max: 90 }),
      longitude: number("Degrees east.", { min: -180, max: 180 }),
    }, "Where the geometries are."),
    geometries: listOf(shape, "x east, y north of the location."),
  }, "Geometries at a place."),
  "a location and geometries",
  (value) => create(GeoGeometrySchema, value),
);
