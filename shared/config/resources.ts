/** Components and services: the entries that become resources of a machine. */
import * as z from "zod";
import { freeObject, nameText, once, openObject } from "./schema_kit.ts";

const orientationTypes = [
  "",
  "ov_degrees",
  "ov_radians",
  "euler_angles",
  "axis_angles",
  "quaternion",
] as const;

/** `{x, y, z}` in millimetres. */
const translationSchema = once(() =>
  openObject({
    x: z.number().optional().describe("Millimetres along x."),
    y: z.number().optional().describe("Millimetres along y."),
    z: z.number().optional().describe("Millimetres along z."),
  })
);

/** Orientation: `type` says which numbers `value` holds. */
const orientationSchema = once(() =>
  openObject({
    type: z.enum(orientationTypes).optional().describe(
      "Form of the orientation. Empty means no rotation.",
    ),
    value: z.record(z.string(), z.number()).optional().describe(
      "ov_degrees, ov_radians, axis_angles: x, y, z, th. euler_angles: roll, pitch, yaw in " +
        "radians. quaternion: w, x, y, z.",
    ),
  })
);

/** Shape of a part, for collision checks. */
const geometrySchema = once(() =>
  openObject({
    type: z.enum(["", "box", "sphere", "capsule", "point", "mesh"]).optional().describe(
      "Form of the geometry. Empty: taken from the numbers that are given.",
    ),
    x: z.number().optional().describe("Box: size along x in millimetres."),
    y: z.number().optional().describe("Box: size along y in millimetres."),
    z: z.number().optional().describe("Box: size along z in millimetres."),
    r: z.number().optional().describe("Sphere and capsule: radius in millimetres."),
    l: z.number().optional().describe("Capsule: length in millimetres."),
    mesh_data: z.string().optional().describe("Mesh: the file, in base64."),
    mesh_content_type: z.string().optional().describe("Mesh: kind of file, for example stl."),
    mesh_file_path: z.string().optional().describe("Mesh: where the file came from."),
    translation: translationSchema().optional().describe("Offset from the frame."),
    orientation: orientationSchema().optional().describe("Rotation against the frame."),
    label: z.string().optional().describe("Name of the geometry."),
  })
);

/** Where a component is, relative to a parent frame. */
export const frameSchema = once(() =>
  openObject({
    id: z.string().optional().describe("Name of the frame. Default: name of the component."),
    parent: z.string().optional().describe("Name of the parent frame, for example `world`."),
    translation: translationSchema().optional().describe("Offset from the parent."),
    orientation: orientationSchema().optional().describe("Rotation against the parent."),
    geometry: geometrySchema().optional().describe("Shape, for collision checks."),
  })
);

/** Log level of one resource. */
export const logConfigurationSchema = once(() =>
  openObject({
    level: z.string().optional().describe("Log level: debug, info, warn or error."),
  })
);

/** What a service does for one resource, for example data capture. */
export const serviceConfigSchema = once(() =>
  openObject({
    type: z.string().describe("Service: `rdk:service:data_manager`, or short `data_manager`."),
    attributes: freeObject().optional().describe("Settings of that service for this resource."),
  })
);

/** Model as an object, the form old configurations use. */
const modelObjectSchema = once(() =>
  openObject({
    namespace: z.string().optional().describe("Namespace. Default: rdk."),
    model_family: z.string().optional().describe("Family. Default: builtin."),
    name: z.string().describe("Name of the model."),
  })
);

/** An entry of `components` or `services` as people write it. */
export const resourceSchema = once(() =>
  openObject({
    name: nameText("resource").optional().describe(
      "Name, unique among resources of the same API. Default for services: builtin.",
    ),
    api: z.string().optional().describe(
      "API as namespace:type:subtype, for example `rdk:component:sensor`.",
    ),
    namespace: z.string().optional().describe("Old form of the API: its namespace."),
    type: z.string().optional().describe("Old form of the API: its subtype."),
    model: z.union([z.string(), modelObjectSchema()]).optional().describe(
      "Model as namespace:family:name; a single word means rdk:builtin:<word>.",
    ),
    attributes: freeObject().optional().describe("Settings of the model."),
    depends_on: z.array(z.string()).optional().describe(
      "Names of resources that must be ready first.",
    ),
    frame: frameSchema().optional().describe("Where the component is."),
    log_configuration: logConfigurationSchema().optional().describe(
      "Log level of this resource; wins over `log`.",
    ),
    service_configs: z.array(serviceConfigSchema()).optional().describe(
      "What services do for this resource, for example data capture.",
    ),
  })
);

export type Translation = z.infer<ReturnType<typeof translationSchema>>;
export type Orientation = z.infer<ReturnType<typeof orientationSchema>>;
export type Geometry = z.infer<ReturnType<typeof geometrySchema>>;
export type Frame = z.infer<ReturnType<typeof frameSchema>>;
export type ServiceConfigEntry = z.infer<ReturnType<typeof serviceConfigSchema>>;
/** A resource as written: the API and the model may be in an old or short form. */
export type ResourceEntry = z.infer<ReturnType<typeof resourceSchema>>;

/** A resource with its name, API triplet and model triplet filled in. */
export interface ResourceConfig extends Omit<ResourceEntry, "namespace" | "type"> {
  name: string;
  /** `rdk:component:sensor` */
  api: string;
  /** `rdk:builtin:fake` */
  model: string;
}
