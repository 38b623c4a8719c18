/** Kinematics in URDF: an XML file of links and joints, in metres and radians. */
import { parseXml, type XmlDocument, type XmlElement } from "@rgrove/parse-xml";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ofEulerAngles } from "../../../shared/config/orientation.ts";
import {
  type Geometry,
  GeometrySchema,
  type Mesh,
  PoseSchema,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { meshBox } from "./mesh.ts";
import { fixed, moving, type Piece, requireFewPieces } from "./piece.ts";
import { compose, IDENTITY, type Pose, toPoseMessage } from "./pose.ts";

const MM = 1_000;
const DEGREE = Math.PI / 180;
const LARGEST = 1_000_000;
/** Elements, attributes and entities: each takes a microsecond and hundreds of bytes to read. */
const MOST_MARKS = 100_000;

/** Files of meshes, by their names in a URDF. */
export type Meshes = Readonly<Record<string, Mesh>>;

/**
 * The pieces of such a file. Links stand in the joint that leads to them, and their ids are the
 * names of the file.
 *
 * @param meshes by their names in the file.
 * @throws {Error} for what is no URDF, and for meshes that cannot be read.
 */
export function piecesOfUrdf(text: string, meshes: Meshes = {}): Piece[] {
  if (text.length > LARGEST) throw new Error(`it has more than ${LARGEST} characters`);
  let marks = 0;
  for (let at = 0; at < text.length; at++) if ("<=&".includes(text[at]!)) marks++;
  if (marks > MOST_MARKS) throw new Error(`it has more than ${MOST_MARKS} elements and attributes`);
  const { root } = parsed(text);
  if (root?.name !== "robot") throw new Error("its first element is not robot");
  const joints = children(root, "joint");
  const links = children(root, "link");
  requireFewPieces(joints.length + links.length);
  const parentOf = new Map(joints.map((joint) => [
    child(joint, "child")?.attributes["link"] ?? "",
    joint.attributes["name"] ?? "",
  ]));
  return [
    ...joints.flatMap(ofJoint),
    ...links.map((link) => {
      const id = link.attributes["name"] ?? "";
      const shapes = children(link, "collision").map((collision) => shapeOf(collision, id, meshes));
      return fixed({ id, parent: parentOf.get(id) ?? "world", shapes }, IDENTITY);
    }),
  ];
}

function parsed(text: string): XmlDocument {
  try {
    return parseXml(text);
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) throw new Error("its elements are nested too deep");
    throw error;
  }
}

function ofJoint(joint: XmlElement): Piece[] {
  const id = joint.attributes["name"] ?? "";
  const parent = child(joint, "parent")?.attributes["link"] ?? "world";
  const type = joint.attributes["type"];
  const origin = originOf(joint);
  if (type === "fixed") return [fixed({ id, parent, shapes: [] }, origin)];
  const slides = type === "prismatic";
  if (!slides && type !== "revolute" && type !== "continuous") {
    throw new Error(`joint ${id} is ${type}; revolute, continuous, prismatic and fixed are known`);
  }
  const unit = slides ? MM : 1 / DEGREE;
  const [x = 1, y = 0, z = 0] = numbers(child(joint, "axis")?.attributes["xyz"]);
  const { lower, upper } = child(joint, "limit")?.attributes ?? {};
  const [min, max] = [Number(lower ?? 0) * unit, Number(upper ?? 0) * unit];
  const isLimited = type !== "continuous" && min < max;
  const mimic = child(joint, "mimic")?.attributes;
  return [
    fixed({ id: `${id}_origin`, parent, shapes: [] }, origin),
    moving({ id, parent: `${id}_origin`, shapes: [] }, {
      ...{ slides, axis: { x, y, z } },
      ...(isLimited && { min, max }),
      ...(mimic && {
        mimic: {
          joint: mimic["joint"] ?? "",
          multiplier: Number(mimic["multiplier"] ?? 1),
          offset: Number(mimic["offset"] ?? 0) * unit,
        },
      }),
    }),
  ];
}

/** A cylinder counts as the capsule around it, a mesh as the box; one without its file stays one. */
function shapeOf(collision: XmlElement, label: string, meshes: Meshes): Geometry {
  const origin = originOf(collision);
  const geometry = child(collision, "geometry");
  const [shape] = geometry ? geometry.children.filter(isElement) : [];
  const number = (name: string) => Number(shape?.attributes[name] ?? 0) * MM;
  const made = (
    shape: Pick<MessageInitShape<typeof GeometrySchema>, "geometryType">,
    pose = origin,
  ) => {
    const center = create(PoseSchema, toPoseMessage(pose));
    return Object.assign(create(GeometrySchema, shape), { label, center });
  };
  switch (shape?.name) {
    case "box": {
      const [x = 0, y = 0, z = 0] = numbers(shape.attributes["size"]).map((side) => side * MM);
      return made({ geometryType: { case: "box", value: { dimsMm: { x, y, z } } } });
    }
    case "sphere":
      return made({ geometryType: { case: "sphere", value: { radiusMm: number("radius") } } });
    case "cylinder": {
      const [radiusMm, lengthMm] = [number("radius"), number("length") + 2 * number("radius")];
      return made({ geometryType: { case: "capsule", value: { radiusMm, lengthMm } } });
    }
    case "mesh": {
      const mesh = meshes[shape.attributes["filename"] ?? ""];
      if (!mesh) return made({ geometryType: { case: "mesh", value: { contentType: "" } } });
      const { center, half } = meshBox(mesh);
      const [sx = 1, sy = 1, sz = 1] = numbers(shape.attributes["scale"]);
      const point = { x: center.x * sx, y: center.y * sy, z: center.z * sz };
      const [x, y, z] = [half.x * sx, half.y * sy, half.z * sz].map((side) => 2 * Math.abs(side));
      return made(
        { geometryType: { case: "box", value: { dimsMm: { x: x!, y: y!, z: z! } } } },
        compose(origin, { ...IDENTITY, point }),
      );
    }
  }
  throw new Error(`link ${label} has a collision of ${shape?.name ?? "nothing"}`);
}

function originOf(element: XmlElement): Pose {
  const { xyz, rpy } = child(element, "origin")?.attributes ?? {};
  const [x = 0, y = 0, z = 0] = numbers(xyz).map((metres) => metres * MM);
  const [roll = 0, pitch = 0, yaw = 0] = numbers(rpy);
  return { point: { x, y, z }, rotation: ofEulerAngles(roll, pitch, yaw) };
}

function numbers(text: string | undefined): number[] {
  const found = text?.trim().split(/\s+/).map(Number) ?? [];
  if (found.every(Number.isFinite)) return found;
  throw new Error(`${JSON.stringify(text)} are no numbers`);
}

function isElement(node: XmlElement["children"][number]): node is XmlElement {
  return node.type === "element";
}

function children(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter(isElement).filter((one) => one.name === name);
}

function child(element: XmlElement, name: string): XmlElement | undefined {
  return children(element, name)[0];
}
