/** Descriptions of rows of joints, in the old form (a JSON file) and in the new one (a message). */
import type { JsonObject } from "@bufbuild/protobuf";
import type {
  JointType,
  KinematicsFileFormat,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";

/** A point or a direction. */
export interface Vector {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** A joint and the link behind it. */
export interface Joint {
  readonly id: string;
  readonly kind: "revolute" | "prismatic";
  /** Direction of turning or sliding, in the frame before the joint. */
  readonly axis: Vector;
  /** Degrees or mm. */
  readonly min: number;
  readonly max: number;
  /** From this joint to the next, or to the end. */
  readonly linkMm: Vector;
}

const SVA: KinematicsFileFormat.SVA = 1;
const REVOLUTE: JointType.REVOLUTE = 1;
const PRISMATIC: JointType.PRISMATIC = 2;

/** The answer to GetKinematics for joints in a row, the first of them on `world`. */
export function kinematics(name: string, joints: readonly Joint[]) {
  const links = joints.map(({ id, linkMm }) => ({
    id: linkOf(id),
    parent: id,
    pose: {
      translation: linkMm,
      orientation: {
        case: "orientationVector" as const,
        value: { oX: 0, oY: 0, oZ: 1, theta: 0 },
      },
    },
  }));
  const last = links.at(-1)?.id;
  return {
    format: SVA,
    kinematicsData: new TextEncoder().encode(JSON.stringify(sva(name, joints))),
    model: {
      name,
      links,
      joints: joints.map(({ id, kind, axis, min, max }, index) => ({
        id,
        parent: parentOf(joints, index),
        type: kind === "revolute" ? REVOLUTE : PRISMATIC,
        axis,
        limits: { min, max },
      })),
      outputFrames: last === undefined ? [] : [last],
    },
  };
}

/** Spatial vector algebra: links and joints as a list of JSON objects. */
function sva(name: string, joints: readonly Joint[]): JsonObject {
  return {
    name,
    kinematic_param_type: "SVA",
    links: joints.map(({ id, linkMm }) => ({
      id: linkOf(id),
      parent: id,
      translation: { ...linkMm },
    })),
    joints: joints.map(({ id, kind, axis, min, max }, index) => ({
      id,
      type: kind,
      parent: parentOf(joints, index),
      axis: { ...axis },
      min,
      max,
    })),
  };
}

function linkOf(joint: string): string {
  return `${joint}_link`;
}

function parentOf(joints: readonly Joint[], index: number): string {
  return index === 0 ? "world" : linkOf(joints[index - 1]!.id);
}
