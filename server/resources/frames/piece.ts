/** What kinematics are made of. */
import { ofAxisAngle } from "../../../shared/config/orientation.ts";
import type { Geometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { IDENTITY, NO_ROTATION, type Pose, type Vector } from "./pose.ts";

const DEGREE = Math.PI / 180;
/** Of a joint that names no limits: degrees, or millimetres. */
const NO_LIMIT = 360;

/** Of an arm there are some twenty. */
const MOST_PIECES = 1_000;

/** @throws {RangeError} when there are more pieces than are considered. */
export function requireFewPieces(count: number): void {
  if (count <= MOST_PIECES) return;
  throw new RangeError(
    `its kinematics have ${count} joints and links; at most ${MOST_PIECES} are considered`,
  );
}

/** A joint, or the rigid piece behind one. */
export interface Piece {
  readonly id: string;
  readonly parent: string;
  /** The pose in the parent at a position of the joint: degrees, or mm for one that slides. */
  readonly pose: (position: number) => Pose;
  /** Follows another joint: position = multiplier · other + offset. */
  readonly mimic?: { readonly joint: string; readonly multiplier: number; readonly offset: number };
  readonly isJoint: boolean;
  readonly slides: boolean;
  /** Limits of the position. */
  readonly min: number;
  readonly max: number;
  /** What it takes up, seen from the parent. */
  readonly shapes: readonly Geometry[];
}

type Place = Pick<Piece, "id" | "parent" | "shapes">;

/** A piece that does not move. */
export function fixed(place: Place, pose: Pose): Piece {
  return { ...place, isJoint: false, slides: false, min: 0, max: 0, pose: () => pose };
}

/** A joint that turns around its axis or slides along it. */
export function moving(
  place: Place,
  { axis: { x, y, z }, slides, min = -NO_LIMIT, max = NO_LIMIT, mimic }: {
    readonly axis: Vector;
    readonly slides: boolean;
    readonly min?: number;
    readonly max?: number;
    readonly mimic?: Piece["mimic"];
  },
): Piece {
  const joint = { ...place, isJoint: true, slides, min, max, ...(mimic && { mimic }) };
  if (!slides) {
    return {
      ...joint,
      pose: (degrees) => ({
        point: IDENTITY.point,
        rotation: ofAxisAngle(degrees * DEGREE, x, y, z),
      }),
    };
  }
  const length = Math.hypot(x, y, z) || 1;
  return {
    ...joint,
    pose: (mm) => ({
      point: { x: x / length * mm, y: y / length * mm, z: z / length * mm },
      rotation: NO_ROTATION,
    }),
  };
}
