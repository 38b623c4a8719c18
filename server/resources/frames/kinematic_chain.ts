/** Where the parts of something that moves are, by the positions of its joints. */
import type { JsonValue } from "@bufbuild/protobuf";
import { ofAxisAngle, ofEulerAngles } from "../../../shared/config/orientation.ts";
import type {
  Geometry,
  GetKinematicsResponse,
  JointType,
  KinematicModel,
  KinematicsFileFormat,
  LinkPose,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { piecesOfJson } from "./kinematics_file.ts";
import { fixed, moving, type Piece, requireFewPieces } from "./piece.ts";
import { compose, IDENTITY, NO_ROTATION, ofOrientation, type Pose, unit } from "./pose.ts";
import type { Meshes } from "./urdf.ts";

const PRISMATIC: JointType.PRISMATIC = 2;
const SVA: KinematicsFileFormat.SVA = 1;
const URDF: KinematicsFileFormat.URDF = 2;
/** Of a file of kinematics, which is read with each question where something is. */
const MOST_BYTES = 1_000_000;

/** A shape, and the frame that it is fixed to. */
export interface PlacedShape {
  /** Id of the link or joint. */
  readonly piece: string;
  readonly shape: Geometry;
  /** Of the frame that the shape's center is seen from, in the base. */
  readonly pose: Pose;
}

/** Joints and links, from the base on. */
export class KinematicChain {
  /** Parents before children. */
  readonly #pieces: readonly Piece[];
  /** Indexes of the parents; -1 for the base. */
  readonly #parents: readonly number[];
  readonly #end: number;
  /** The joints that get a position, in the order of the positions. */
  readonly joints: readonly Piece[];

  /**
   * @param onlyToEnd joints that do not move the end get no position.
   * @throws {RangeError} when there are too many pieces.
   */
  constructor(all: readonly Piece[], outputFrame: string | undefined, onlyToEnd = false) {
    requireFewPieces(all.length);
    this.#pieces = sorted(all);
    const index = new Map(this.#pieces.map(({ id }, at) => [id, at]));
    this.#parents = this.#pieces.map(({ parent }) => index.get(parent) ?? -1);
    const parents = new Set(all.map(({ parent }) => parent));
    const end = outputFrame ?? all.filter(({ id }) => !parents.has(id)).at(-1)?.id;
    this.#end = index.get(end ?? "") ?? -1;
    const chain: Piece[] = [];
    for (let at = this.#end; at >= 0; at = this.#parents[at]!) chain.unshift(this.#pieces[at]!);
    const others = onlyToEnd ? [] : all.filter((piece) => !chain.includes(piece));
    this.joints = [...chain, ...others].filter(({ isJoint, mimic }) => isJoint && !mimic);
  }

  /** How many positions it takes. */
  get jointCount(): number {
    return this.joints.length;
  }

  /**
   * The end, seen from the base.
   *
   * @throws {RangeError} when there are more or fewer positions than joints.
   */
  endAt(positions: readonly number[]): Pose {
    return this.#end < 0 ? IDENTITY : this.#posesAt(positions)[this.#end]!;
  }

  /** What its links and joints take up. */
  shapesAt(positions: readonly number[]): PlacedShape[] {
    const poses = this.#posesAt(positions);
    return this.#pieces.flatMap(({ id, shapes }, at) =>
      shapes.map((shape) => ({ piece: id, shape, pose: this.#parentPose(poses, at) }))
    );
  }

  /** The straight pieces that it consists of, as the end points of each, for want of shapes. */
  linesAt(positions: readonly number[]): { readonly piece: string; readonly ends: [Pose, Pose] }[] {
    const poses = this.#posesAt(positions);
    return this.#pieces.flatMap(({ id, isJoint, slides }, at) =>
      isJoint && !slides ? [] : [{ piece: id, ends: [this.#parentPose(poses, at), poses[at]!] }]
    );
  }

  #parentPose(poses: readonly Pose[], at: number): Pose {
    return poses[this.#parents[at]!] ?? IDENTITY;
  }

  #posesAt(positions: readonly number[]): Pose[] {
    if (positions.length !== this.joints.length) {
      throw new RangeError(
        `it reports ${positions.length} positions, and its kinematics have ${this.joints.length} ` +
          "joints",
      );
    }
    const known = new Map(this.joints.map(({ id }, index) => [id, positions[index]!]));
    const poses: Pose[] = [];
    this.#pieces.forEach(({ id, mimic, pose }, at) => {
      const position = mimic
        ? mimic.multiplier * (known.get(mimic.joint) ?? 0) + mimic.offset
        : known.get(id) ?? 0;
      const parent = this.#parents[at]!;
      poses.push(parent < 0 ? pose(position) : compose(poses[parent]!, pose(position)));
    });
    return poses;
  }
}

/** Parents first; what hangs together in a circle is left out. */
function sorted(all: readonly Piece[]): Piece[] {
  const known = new Set(all.map(({ id }) => id));
  const placed = new Set<string>();
  const pieces: Piece[] = [];
  let waiting = [...new Map(all.map((piece) => [piece.id, piece])).values()];
  while (waiting.length > 0) {
    const next = waiting.filter(({ parent }) => !known.has(parent) || placed.has(parent));
    if (next.length === 0) break;
    for (const { id } of next) placed.add(id);
    pieces.push(...next);
    waiting = waiting.filter(({ id }) => !placed.has(id));
  }
  return pieces;
}

/**
 * The chain that a resource describes, by the message or by its file; undefined where it describes
 * none or in another form.
 *
 * @throws {Error} for a file that is damaged.
 */
export async function kinematicChain(
  answer: GetKinematicsResponse,
): Promise<KinematicChain | undefined> {
  const { model, format, kinematicsData } = answer;
  if (model && model.joints.length + model.links.length > 0) return ofModel(model);
  if (kinematicsData.length > MOST_BYTES) {
    throw new RangeError(`its kinematics have more than ${MOST_BYTES} bytes`);
  }
  if (format === URDF) {
    return await chainOfUrdf(
      new TextDecoder().decode(kinematicsData),
      answer.meshesByUrdfFilepath,
    );
  }
  return format === SVA ? chainOfJson(svaOf(answer)) : undefined;
}

/** Of the family's JSON; undefined for what is none. */
export function chainOfJson(file: JsonValue | undefined): KinematicChain | undefined {
  const pieces = piecesOfJson(file);
  return pieces && new KinematicChain(pieces, undefined);
}

/** @throws {Error} for what is no URDF, and for meshes that cannot be read. */
export async function chainOfUrdf(text: string, meshes?: Meshes): Promise<KinematicChain> {
  const { piecesOfUrdf } = await import("./urdf.ts");
  return new KinematicChain(piecesOfUrdf(text, meshes), undefined, true);
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
  requireFewPieces(links.length + joints.length);
  return new KinematicChain([
    ...joints.map(({ id, parent, type, axis, limits, mimic, geometry }) => {
      const { min, max } = limits ?? {};
      return moving({ id, parent, shapes: geometry ? [geometry] : [] }, {
        ...{ slides: type === PRISMATIC, axis: { x: 0, y: 0, z: 0, ...axis } },
        ...(min !== undefined && max !== undefined && min < max && { min, max }),
        ...(mimic && { mimic }),
      });
    }),
    ...links.map(({ id, parent, pose, collision }) =>
      fixed({ id, parent, shapes: collision }, ofLinkPose(pose))
    ),
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
