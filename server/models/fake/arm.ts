import { Code, ConnectError } from "@connectrpc/connect";
import type {
  ArmService,
  JointPositions,
  MoveThroughJointPositionsStreamedRequest,
} from "../../../shared/gen/viam/component/arm/v1/arm_pb.ts";
import { attributes, integer, oneOf, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { type Joint, kinematics, type Vector } from "./kinematics.ts";
import { LINK_MM, planarEnd, planarReach, reachPlanar } from "./planar_arm.ts";

/** How far each joint turns either way. Degrees. */
const JOINT_LIMIT_DEG = 360;

/** Joints of the arms that the family's own fake knows by name. */
const JOINTS_BY_MODEL = {
  dofbot: 5,
  eva: 6,
  lite6: 6,
  so101: 5,
  ur20: 6,
  ur5e: 6,
  xArm6: 6,
  xArm7: 7,
} as const;

type ArmModel = keyof typeof JOINTS_BY_MODEL;
const ARM_MODELS = Object.keys(JOINTS_BY_MODEL) as ArmModel[];

export interface FakeArmAttributes {
  degrees_of_freedom: number | undefined;
  "arm-model": ArmModel | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:arm`: all joints turn in one plane. */
export const fakeArmModel: Model<FakeArmAttributes> = {
  api: "rdk:component:arm",
  model: "rdk:builtin:fake",
  attributes: attributes<FakeArmAttributes>({
    degrees_of_freedom: optional(
      integer("Number of joints. Default: those of arm-model, else 1.", { min: 1, max: 12 }),
    ),
    "arm-model": optional(
      oneOf(ARM_MODELS, "An arm to have as many joints as; its lengths and limits it has not."),
    ),
  }),
  construct({ attributes, name }) {
    const { degrees_of_freedom: joints, "arm-model": model } = attributes;
    return new FakeArm(name, joints ?? (model ? JOINTS_BY_MODEL[model] : 1));
  },
};

/** Is at once where it is sent. */
export class FakeArm implements Driver<typeof ArmService> {
  #degrees: readonly number[];
  #isManual = false;

  constructor(private readonly name: string, private readonly jointCount: number) {
    this.#degrees = new Array<number>(jointCount).fill(0);
  }

  getEndPosition() {
    const { x, y, theta } = planarEnd(this.#degrees);
    return { pose: { x, y, z: 0, oX: 0, oY: 0, oZ: 1, theta } };
  }

  /** Goes to the place of the pose; how the end is turned there follows from the joints. */
  moveToPosition({ to }: { to?: Vector | undefined }) {
    if (!to) throw new ConnectError("the request has no pose to move to", Code.InvalidArgument);
    const found = to.z === 0 ? reachPlanar(this.jointCount, to) : undefined;
    if (!found) {
      const { nearest, farthest } = planarReach(this.jointCount);
      throw new ConnectError(
        `the arm can't reach x ${to.x}, y ${to.y}, z ${to.z}; it reaches what is from ${nearest} ` +
          `to ${farthest} mm away from its base at z 0`,
        Code.InvalidArgument,
      );
    }
    this.#degrees = found;
    return {};
  }

  getJointPositions() {
    return { positions: { values: [...this.#degrees] } };
  }

  moveToJointPositions({ positions }: { positions?: JointPositions | undefined }) {
    this.#degrees = this.#checked(positions);
    return {};
  }

  moveThroughJointPositions({ positions }: { positions: readonly JointPositions[] }) {
    // All of them are checked before the first is moved to.
    this.#degrees = positions.map((each) => this.#checked(each)).at(-1) ?? this.#degrees;
    return {};
  }

  async *moveThroughJointPositionsStreamed(
    requests: AsyncIterable<MoveThroughJointPositionsStreamedRequest>,
  ) {
    for await (const { message } of requests) {
      if (message.case !== "batch") continue;
      const { points } = message.value;
      this.moveThroughJointPositions({
        positions: points.flatMap(({ positions }) => positions ?? []),
      });
      yield { message: { case: "ack" as const, value: {} } };
    }
  }

  isMoving() {
    return { isMoving: false };
  }

  stop(): void {}

  getKinematics() {
    const joints: Joint[] = this.#degrees.map((_, index) => ({
      id: `joint_${index}`,
      kind: "revolute",
      axis: { x: 0, y: 0, z: 1 },
      min: -JOINT_LIMIT_DEG,
      max: JOINT_LIMIT_DEG,
      linkMm: { x: LINK_MM, y: 0, z: 0 },
    }));
    return kinematics(this.name, joints);
  }

  get3DModels() {
    return { models: {} };
  }

  setManualMode({ manualMode }: { manualMode: boolean }) {
    this.#isManual = manualMode;
    return {};
  }

  getManualMode() {
    return { manualMode: this.#isManual };
  }

  getProperties() {
    return { supportManualMode: true, supportCartesianCommands: true };
  }

  doCommand = echo;

  getStatus() {
    return { joint_positions: [...this.#degrees], is_moving: false };
  }

  #checked(positions: JointPositions | undefined): number[] {
    const values = positions?.values ?? [];
    if (values.length !== this.jointCount) {
      throw new ConnectError(
        `the request has ${values.length} joint positions; the arm has ${this.jointCount} joints`,
        Code.InvalidArgument,
      );
    }
    values.forEach((value, joint) => {
      if (Math.abs(value) <= JOINT_LIMIT_DEG) return;
      throw new ConnectError(
        `joint ${joint} can't be at ${value}°; it turns from -${JOINT_LIMIT_DEG}° to ` +
          `${JOINT_LIMIT_DEG}°`,
        Code.InvalidArgument,
      );
    });
    return [...values];
  }
}
