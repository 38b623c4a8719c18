/** Moves an arm, or what stands on its end, to a pose: Move of the motion service. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import {
  ArmService,
  JointPositionsSchema,
} from "../../../shared/gen/viam/component/arm/v1/arm_pb.ts";
import type { MoveRequest } from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import type { FrameSnapshot, SnapshotPart } from "../../resources/frames/frame_snapshot.ts";
import type { FrameSystem } from "../../resources/frames/frame_system.ts";
import type { KinematicChain } from "../../resources/frames/kinematic_chain.ts";
import { compose, inverse, ofPoseMessage } from "../../resources/frames/pose.ts";
import { Slices } from "../../resources/frames/slices.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import { type Used, useDriver } from "../drivers/dependency.ts";
import { Motion } from "../drivers/motion.ts";
import { planArm } from "./arm_plan.ts";
import { Scene } from "./scene.ts";
import type { Positions } from "./search.ts";

const ARM = "rdk:component:arm";
/** Seconds. */
const PLANNING = { usual: 10, most: 60 };
/** Plans that are made at the same time; each takes a processor. */
const MOST_PLANS = 4;
const MOST_TRANSFORMS = 200;

export interface ArmMoverOptions {
  readonly frames: () => Pick<FrameSystem, "snapshot">;
  readonly dependencies: ReadonlyMap<string, Resource>;
  readonly clock: Clock;
  /** Default: chance. */
  readonly random?: () => number;
}

type Arm = SnapshotPart & { readonly chain: KinematicChain; readonly key: string };

/** See above. */
export class ArmMover {
  readonly #moving = new Map<string, { readonly motion: Motion; readonly driver: UsedArm }>();
  /** What ends the plans that are being made. */
  readonly #plans = new Set<AbortController>();

  constructor(private readonly options: ArmMoverOptions) {}

  /** Names of the arms that move. */
  get moving(): string[] {
    return [...this.#moving].filter(([, { motion }]) => motion.active).map(([name]) => name);
  }

  /** Answers when it is there. A newer call for the same arm takes over. */
  async move(request: MoveRequest, call: CallContext): Promise<{ success: boolean }> {
    const way = await this.#plan(request, call.signal);
    const { key, name, positions } = way;
    const moving = this.#moving.get(key) ?? {
      ...{
        motion: new Motion(),
        driver: useDriver(ArmService, ARM, name, this.options.dependencies),
      },
    };
    this.#moving.set(key, moving);
    let isThere = false;
    await moving.motion.run(call, async (signal) => {
      await follow(moving.driver, positions.slice(1), signal);
      signal.throwIfAborted();
      isThere = true;
    }, () => moving.driver.stop());
    return { success: isThere };
  }

  /** Ends what moves, and what is being planned: it must not begin after a stop. */
  async stop(): Promise<void> {
    for (const plan of this.#plans) {
      plan.abort(new ConnectError("it was stopped while it was planned", Code.Aborted));
    }
    const active = [...this.#moving.values()].filter(({ motion }) => motion.active);
    for (const { motion } of active) motion.end();
    await Promise.all(active.map(({ driver }) => driver.stop()));
  }

  async #plan(request: MoveRequest, signal: AbortSignal) {
    if (this.#plans.size >= MOST_PLANS) {
      throw new ConnectError(
        `${MOST_PLANS} arms are being planned for already; try again later`,
        Code.ResourceExhausted,
      );
    }
    const plan = linkedController(signal);
    this.#plans.add(plan);
    try {
      const planned = await this.#planned(request, plan.signal);
      plan.signal.throwIfAborted();
      return planned;
    } finally {
      this.#plans.delete(plan);
      plan.abort(new Error("done"));
    }
  }

  async #planned(request: MoveRequest, signal: AbortSignal) {
    const { destination, worldState, constraints, extra } = request;
    if (!destination?.pose) throw invalid("destination: it has no pose");
    const transforms = worldState?.transforms ?? [];
    if (transforms.length > MOST_TRANSFORMS) {
      throw invalid(`world_state.transforms: at most ${MOST_TRANSFORMS} are considered`);
    }
    const named = request.componentName || request.componentNameDeprecated?.name || "";
    const component = named.slice(named.indexOf("/") + 1);
    const frames = await this.options.frames().snapshot(transforms, signal);
    const arm = armOf(frames, component);
    const target = destination.referenceFrame || "world";
    if (!frames.has(target)) throw unknown(target, frames);
    const wanted = ofPoseMessage(destination.pose);
    if (
      !Object.values(destination.pose).every((one) =>
        typeof one !== "number" || Number.isFinite(one)
      )
    ) {
      throw invalid("destination: its pose has numbers that are none");
    }
    // What stands on the end keeps its place there.
    const onEnd = compose(inverse(frames.inWorld(component)), frames.inWorld(arm.name));
    const goal = compose(frames.inWorld(target), compose(wanted, onEnd));
    const scene = new Scene({
      ...{ frames, arm, obstacles: worldState?.obstacles ?? [] },
      allowed: constraints?.collisionSpecification.flatMap(({ allows }) => allows) ?? [],
    });
    const positions = await planArm({
      ...{ chain: arm.chain, start: arm.positions ?? [], constraints, signal },
      goal: compose(inverse(frames.originInWorld(arm)), goal),
      scene,
      random: this.options.random ?? Math.random,
      slices: new Slices(this.options.clock, planningMs(extra?.["timeout"])),
    });
    return { key: arm.key, name: arm.key.slice(arm.key.indexOf("/") + 1), positions };
  }
}

type UsedArm = Used<typeof ArmService>;

/** An arm that cannot move through several positions is sent to one after the other. */
async function follow(arm: UsedArm, way: readonly Positions[], signal: AbortSignal): Promise<void> {
  const positions = way.map((values) => create(JointPositionsSchema, { values: [...values] }));
  try {
    await arm.call("moveThroughJointPositions", { positions }, signal);
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
    for (const one of positions) {
      await arm.call("moveToJointPositions", { positions: one }, signal);
      signal.throwIfAborted();
    }
  }
}

function armOf(frames: FrameSnapshot, component: string): Arm {
  if (component === "") {
    throw invalid("component_name is empty; name an arm, or what stands on one");
  }
  if (!frames.has(component)) throw unknown(component, frames);
  const all = frames.movedBy(component);
  const isArm = ({ key }: SnapshotPart) => key?.startsWith(`${ARM}/`);
  // The fingers of a gripper on the arm stay as they are.
  const moved = all.find(isArm) ?? all[0];
  const { chain, key } = moved ?? {};
  if (moved && chain && key !== undefined && isArm(moved)) return { ...moved, chain, key };
  throw new ConnectError(
    moved
      ? `${component} is moved by ${moved.name}, which is no arm; only arms are planned for`
      : `${component} does not stand on an arm; bases are moved by MoveOnGlobe and MoveOnMap`,
    Code.Unimplemented,
  );
}

function planningMs(timeout: unknown): number {
  const { usual, most } = PLANNING;
  const seconds = typeof timeout === "number" && timeout > 0 ? Math.min(most, timeout) : usual;
  return seconds * 1_000;
}

function unknown(frame: string, frames: FrameSnapshot): ConnectError {
  return new ConnectError(
    `there is no frame ${frame}; known are ${frames.names().join(", ")}. ` +
      "A component has one when its configuration has a frame",
    Code.NotFound,
  );
}

function invalid(reason: string): ConnectError {
  return new ConnectError(reason, Code.InvalidArgument);
}
