import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type {
  ArmService,
  JointPositions,
  MoveThroughJointPositionsStreamedRequest,
} from "../../../shared/gen/viam/component/arm/v1/arm_pb.ts";
import {
  anyObject,
  attributes,
  integer,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { type ArmBody, type ArmPose, bodyOfFile, bodyOfJson, planarBody } from "./arm_body.ts";
import { knownKinematics } from "./arm_kinematics.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

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
  "model-path": string | undefined;
  kinematics: JsonObject | undefined;
}

/**
 * Model `rdk:builtin:fake` of `rdk:component:arm`: with kinematics an arm of that form, otherwise
 * one whose joints all turn in one plane.
 */
export function fakeArmModel(environment: { clock: Clock }): Model<FakeArmAttributes> {
  return {
    api: "rdk:component:arm",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeArmAttributes>({
      degrees_of_freedom: optional(
        integer("Number of joints. Default: those of arm-model, else 1.", { min: 1, max: 12 }),
      ),
      "arm-model": optional(
        oneOf(ARM_MODELS, "An arm to be like: ur5e and ur20 in form, the others in joints only."),
      ),
      "model-path": optional(text("A file with kinematics: JSON (SVA, DH) or URDF (.urdf).")),
      kinematics: optional(anyObject("Kinematics in JSON (SVA, DH), in place of a file.")),
    }),
    async construct({ attributes, name }) {
      const { degrees_of_freedom: joints, "arm-model": model } = attributes;
      const file = attributes.kinematics ?? (joints ? undefined : knownKinematics(model));
      const path = attributes["model-path"];
      const { clock } = environment;
      if (path !== undefined) return new FakeArm(await bodyOfFile(path, clock), clock);
      if (file) return new FakeArm(bodyOfJson(file, "attributes.kinematics", clock), clock);
      return new FakeArm(
        planarBody(name, joints ?? (model ? JOINTS_BY_MODEL[model] : 1)),
        clock,
      );
    },
  };
}

/** Is at once where it is sent. */
export class FakeArm implements Driver<typeof ArmService> {
  #degrees: readonly number[];
  /** By the monotonic clock. */
  #manualUntilMs = -Infinity;

  constructor(private readonly body: ArmBody, private readonly clock: Clock) {
    // Of joints that cannot be at 0 the middle.
    this.#degrees = body.joints.map(({ min, max }) => min <= 0 && max >= 0 ? 0 : (min + max) / 2);
  }

  getEndPosition() {
    return { pose: this.body.end(this.#degrees) };
  }

  /** A planar arm goes to the place; how its end is turned there follows from the joints. */
  moveToPosition({ to }: { to?: ArmPose | undefined }, call?: CallContext) {
    if (!to) throw new ConnectError("the request has no pose to move to", Code.InvalidArgument);
    const found = this.body.reach(to, this.#degrees, call?.signal ?? new AbortController().signal);
    const take = (degrees: readonly number[]) => {
      this.#degrees = degrees;
      return {};
    };
    return found instanceof Promise ? found.then(take) : take(found);
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
    return this.body.kinematics();
  }

  get3DModels() {
    return { models: {} };
  }

  /** @param request with the seconds for which it is enabled; 0 is without an end. */
  setManualMode({ manualMode, enabledFor }: { manualMode: boolean; enabledFor: number }) {
    const ms = enabledFor > 0 ? enabledFor * 1_000 : Infinity;
    this.#manualUntilMs = manualMode ? this.clock.monotonicMs() + ms : -Infinity;
    return {};
  }

  getManualMode() {
    return { manualMode: this.clock.monotonicMs() < this.#manualUntilMs };
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
    const { joints } = this.body;
    if (values.length !== joints.length) {
      throw new ConnectError(
        `the request has ${values.length} joint positions; the arm has ${joints.length} joints`,
        Code.InvalidArgument,
      );
    }
    values.forEach((value, joint) => {
      const { min, max, slides } = joints[joint]!;
      if (value >= min && value <= max) return;
      const [unit, moves] = slides ? [" mm", "slides"] : ["°", "turns"];
      throw new ConnectError(
        `joint ${joint} can't be at ${value}${unit}; it ${moves} from ${min}${unit} to ${max}${unit}`,
        Code.InvalidArgument,
      );
    });
    return [...values];
  }
}
