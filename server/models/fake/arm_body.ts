/** The form of an arm that is not there. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { KinematicsFileFormat } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { solutions } from "../../resources/frames/inverse_kinematics.ts";
import {
  chainOfJson,
  chainOfUrdf,
  type KinematicChain,
} from "../../resources/frames/kinematic_chain.ts";
import { ofPoseMessage, toPoseMessage } from "../../resources/frames/pose.ts";
import { Slices } from "../../resources/frames/slices.ts";
import { type Joint, kinematics } from "./kinematics.ts";
import { LINK_MM, planarEnd, planarReach, reachPlanar } from "./planar_arm.ts";

const SVA: KinematicsFileFormat.SVA = 1;
const URDF: KinematicsFileFormat.URDF = 2;
/** How far each joint of a planar arm turns either way. Degrees. */
const JOINT_LIMIT_DEG = 360;
/** For looking for joint positions. Milliseconds, and beginnings that are tried. */
const SEARCH = { limitMs: 5_000, tries: 100 };

/** A pose, as messages have it. */
export type ArmPose = ReturnType<typeof toPoseMessage>;

/** See above. Positions in degrees, or mm for joints that slide. */
export interface ArmBody {
  readonly joints: readonly { readonly min: number; readonly max: number; slides?: boolean }[];
  end(positions: readonly number[]): ArmPose;
  /** @throws {ConnectError} INVALID_ARGUMENT for what is out of reach. */
  reach(
    to: ArmPose,
    from: readonly number[],
    signal: AbortSignal,
  ): readonly number[] | Promise<readonly number[]>;
  /** The answer to GetKinematics. */
  kinematics(): Partial<Pick<ReturnType<typeof kinematics>, "model">> & {
    readonly format: KinematicsFileFormat;
    readonly kinematicsData: Uint8Array<ArrayBuffer>;
  };
}

/** Links of equal length, and joints that all turn around the vertical axis. */
export function planarBody(name: string, jointCount: number): ArmBody {
  const limits = { min: -JOINT_LIMIT_DEG, max: JOINT_LIMIT_DEG };
  return {
    joints: Array.from({ length: jointCount }, () => limits),
    end(degrees) {
      const { x, y, theta } = planarEnd(degrees);
      return { x, y, z: 0, oX: 0, oY: 0, oZ: 1, theta };
    },
    reach(to) {
      const found = to.z === 0 ? reachPlanar(jointCount, to) : undefined;
      if (found) return found;
      const { nearest, farthest } = planarReach(jointCount);
      throw new ConnectError(
        `the arm can't reach x ${to.x}, y ${to.y}, z ${to.z}; it reaches what is from ${nearest} ` +
          `to ${farthest} mm away from its base at z 0`,
        Code.InvalidArgument,
      );
    },
    kinematics() {
      const joints = Array.from({ length: jointCount }, (_, index): Joint => ({
        ...{ id: `joint_${index}`, kind: "revolute", axis: { x: 0, y: 0, z: 1 }, ...limits },
        linkMm: { x: LINK_MM, y: 0, z: 0 },
      }));
      return kinematics(name, joints);
    },
  };
}

/** @param where what an error names. @throws when they are no kinematics of an arm. */
export function bodyOfJson(file: JsonValue, where: string, clock: Clock): ArmBody {
  const chain = chainOfJson(file);
  if (!chain) throw new Error(`${where}: it is no JSON of kinematics in the form SVA or DH`);
  return bodyOfChain(chain, SVA, JSON.stringify(file), where, clock);
}

/** @throws when it can't be read, or is no file of an arm's kinematics. */
export async function bodyOfFile(path: string, clock: Clock): Promise<ArmBody> {
  const text = await Deno.readTextFile(path);
  let file: JsonObject;
  try {
    if (/\.urdf$/i.test(path)) {
      return bodyOfChain(await chainOfUrdf(text), URDF, text, path, clock);
    }
    file = JSON.parse(text) as JsonObject;
  } catch (error) {
    throw new Error(`${path}: ${toError(error).message}`);
  }
  return bodyOfJson(file, path, clock);
}

function bodyOfChain(
  chain: KinematicChain,
  format: KinematicsFileFormat,
  text: string,
  where: string,
  clock: Clock,
): ArmBody {
  if (chain.jointCount === 0) throw new Error(`${where}: it has no joint that moves its end`);
  return {
    joints: chain.joints,
    end: (positions) => toPoseMessage(chain.endAt(positions)),
    async reach(to, from, signal) {
      const slices = new Slices(clock, SEARCH.limitMs);
      const [found] = await solutions(chain, { pose: ofPoseMessage(to), from }, {
        ...{ most: 1, tries: SEARCH.tries, random: Math.random, slices, signal },
      });
      if (found) return found;
      throw new ConnectError(
        `there are no positions of its joints within their limits with which the end is at ` +
          `x ${to.x}, y ${to.y}, z ${to.z}, turned as the request says`,
        Code.InvalidArgument,
      );
    },
    kinematics: () => ({ format, kinematicsData: new TextEncoder().encode(text) }),
  };
}
