/** Where the end of something that moves is, by the positions of its joints. */
import type { JsonValue } from "@bufbuild/protobuf";
import {
  ofAxisAngle,
  ofEulerAngles,
  toOrientationVector,
} from "../../../shared/config/orientation.ts";
import type {
  GetKinematicsResponse,
  JointType,
  KinematicModel,
  KinematicsFileFormat,
  LinkPose,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import {
  compose,
  IDENTITY,
  NO_ROTATION,
  ofOrientation,
  type Pose,
  unit,
  type Vector,
} from "./pose.ts";

const PRISMATIC: JointType.PRISMATIC = 2;
const SVA: KinematicsFileFormat.SVA = 1;
const DEGREE = Math.PI / 180;

/** A joint, or the rigid piece behind one. */
interface Piece {
  readonly id: string;
  readonly parent: string;
  /** The pose at a position of the joint: degrees, or millimetres for one that slides. */
  readonly pose: (position: number) => Pose;
  /** Undefined for a link. */
  readonly mimic?: { readonly joint: string; readonly multiplier: number; readonly offset: number };
  readonly isJoint: boolean;
}

/** Joints and links, from the base on. */
export class KinematicChain {
  readonly #pieces: ReadonlyMap<string, Piece>;
  /** Ids of the joints that get a position, in the order of the positions. */
  readonly #joints: readonly string[];
  readonly #end: string | undefined;

  constructor(pieces: readonly Piece[], outputFrame: string | undefined) {
    this.#pieces = new Map(pieces.map((piece) => [piece.id, piece]));
    this.#joints = pieces.filter(({ isJoint, mimic }) => isJoint && !mimic).map(({ id }) => id);
    const parents = new Set(pieces.map(({ parent }) => parent));
    this.#end = outputFrame ?? pieces.filter(({ id }) => !parents.has(id)).at(-1)?.id;
  }

  /** How many positions it takes. */
  get jointCount(): number {
    return this.#joints.length;
  }

  /**
   * The end, seen from the base.
   *
   * @throws {RangeError} when there are more or fewer positions than joints.
   */
  endAt(positions: readonly number[]): Pose {
    if (positions.length !== this.#joints.length) {
      throw new RangeError(
        `it reports ${positions.length} positions, and its kinematics have ${this.#joints.length} ` +
          "joints",
      );
    }
    const known = new Map(this.#joints.map((id, index) => [id, positions[index]!]));
    let pose = IDENTITY;
    const seen = new Set<string>();
    let piece = this.#end === undefined ? undefined : this.#pieces.get(this.#end);
    while (piece && !seen.has(piece.id)) {
      seen.add(piece.id);
      const { mimic } = piece;
      const position = mimic
        ? mimic.multiplier * (known.get(mimic.joint) ?? 0) + mimic.offset
        : known.get(piece.id) ?? 0;
      pose = compose(piece.pose(position), pose);
      piece = this.#pieces.get(piece.parent);
    }
    return pose;
  }
}

/**
 * The chain that a resource describes, by the message or by the file in the form SVA; undefined
 * where it describes none or in another form.
 */
export function kinematicChain(answer: GetKinematicsResponse): KinematicChain | undefined {
  if (answer.model && answer.model.joints.length + answer.model.links.length > 0) {
    return ofModel(answer.model);
  }
  return answer.format === SVA ? ofSva(svaOf(answer)) : undefined;
}

/** The file of a resource in the form SVA; undefined where it has none. */
export function svaOf({ format, kinematicsData }: GetKinematicsResponse): JsonValue | undefined {
  if (format !== SVA) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(kinematicsData)) as JsonValue;
  } catch {
    return undefined;
  }
}

function ofModel({ links, joints, outputFrames }: KinematicModel): KinematicChain {
  return new KinematicChain([
    ...joints.map(({ id, parent, type, axis, mimic }) => ({
      id,
      parent,
      isJoint: true,
      pose: motion(type === PRISMATIC, axis),
      ...(mimic && { mimic }),
    })),
    ...links.map(({ id, parent, pose }) => {
      const fixed = ofLinkPose(pose);
      return { id, parent, isJoint: false, pose: () => fixed };
    }),
  ], outputFrames[0]);
}

function ofLinkPose(pose: LinkPose | undefined): Pose {
  const { x = 0, y = 0, z = 0 } = pose?.translation ?? {};
  return { point: { x, y, z }, rotation: unit(rotationOf(pose?.orientation)) };
}

function rotationOf(orientation: LinkPose["orientation"] | undefined) {
  switch (orientation?.case) {
    case "quaternion":
      return orientation.value;
    case "orientationVector":
      return ofOrientation(orientation.value);
    case "eulerAngles": {
      const { roll, pitch, yaw } = orientation.value;
      return ofEulerAngles(roll, pitch, yaw);
    }
    case "axisAngles": {
      const { rx, ry, rz, theta } = orientation.value;
      return ofAxisAngle(theta, rx, ry, rz);
    }
    case undefined:
      return NO_ROTATION;
  }
}

function motion(slides: boolean, axis: Partial<Vector> | undefined): (position: number) => Pose {
  const { x = 0, y = 0, z = 0 } = axis ?? {};
  if (!slides) {
    return (degrees) => ({
      point: IDENTITY.point,
      rotation: ofAxisAngle(degrees * DEGREE, x, y, z),
    });
  }
  const length = Math.hypot(x, y, z) || 1;
  return (mm) => ({
    point: { x: x / length * mm, y: y / length * mm, z: z / length * mm },
    rotation: NO_ROTATION,
  });
}

/** Spatial vector algebra: a JSON object with lists of links and joints. */
function ofSva(file: JsonValue | undefined): KinematicChain | undefined {
  const { links, joints } = asObject(file);
  if (!Array.isArray(links) || !Array.isArray(joints)) return undefined;
  return new KinematicChain([
    ...joints.map(asObject).map(({ id, parent, type, axis }) => ({
      id: String(id),
      parent: String(parent),
      isJoint: type !== "fixed",
      pose: motion(type === "prismatic", numbers(axis)),
    })),
    ...links.map(asObject).map(({ id, parent, translation, orientation }) => {
      const { type, value } = asObject(orientation);
      const vector = toOrientationVector({
        type: String(type ?? "") as "",
        value: numbers(value),
      });
      const fixed = {
        point: { x: 0, y: 0, z: 0, ...numbers(translation) },
        rotation: vector
          ? ofOrientation({ oX: vector.x, oY: vector.y, oZ: vector.z, theta: vector.theta })
          : NO_ROTATION,
      };
      return { id: String(id), parent: String(parent), isJoint: false, pose: () => fixed };
    }),
  ], undefined);
}

function asObject(value: JsonValue | undefined): { readonly [key: string]: JsonValue } {
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
