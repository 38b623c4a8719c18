/** Answers where the machine's parts are: the frame methods of RobotService. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { toOrientationVector } from "../../../shared/config/orientation.ts";
import { toGeometry } from "../../../shared/config/proto/geometry.ts";
import type { Frame, ResourceConfig } from "../../../shared/config/resources.ts";
import {
  type Geometry,
  type GetKinematicsResponse,
  GetKinematicsResponseSchema,
  type Transform,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type {
  FrameSystemConfig,
  GetPoseRequest,
  TransformPCDRequest,
  TransformPoseRequest,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { driverMethod } from "../graph/driver.ts";
import { reasonOf } from "../graph/errors.ts";
import { fullName } from "../graph/name.ts";
import type { Resource } from "../graph/resource.ts";
import type { ResourceIndex } from "../graph/resource_index.ts";
import { Frames, frameTree, type Part, WORLD } from "./frame_tree.ts";
import { FrameSnapshot, type PartJoints } from "./frame_snapshot.ts";
import { kinematicChain, svaOf } from "./kinematic_chain.ts";
import { transformPointCloud } from "./point_cloud.ts";
import {
  compose,
  inverse,
  ofOrientation,
  ofPoseMessage,
  type Pose,
  toPoseMessage,
} from "./pose.ts";
import { currentPositions } from "./positions.ts";

/** A part that takes longer to report its joints counts as not answering. Milliseconds. */
const PART_DEADLINE_MS = 5_000;
/** More frames of one remote are left out. */
const MOST_REMOTE_PARTS = 2_000;
/** APIs of resources that have joints. */
const JOINTED_APIS = ["rdk:component:arm", "rdk:component:gantry", "rdk:component:gripper"];

/** A remote that stands in a frame of this machine. */
export interface RemoteFrames {
  /** Name of its world here. */
  readonly world: string;
  readonly frame: Frame;
  /**
   * Its frames by the names that they have here; throws when it does not answer, or is one of those
   * that ask.
   */
  ask(signal: AbortSignal, asking: readonly string[]): Promise<readonly FrameSystemConfig[]>;
}

export interface FrameSystemOptions {
  readonly resources: ResourceIndex;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A part as configuration or caller describe it. */
interface DescribedPart extends Part {
  /** Component that it is; undefined for one that the caller describes. */
  readonly key?: string;
  readonly geometry?: Geometry | undefined;
  /** What its remote reported of its joints; undefined for a part of this machine. */
  readonly joints?: Pick<FrameSystemConfig, "kinematics" | "model">;
}

/** Knows frames by the configuration, and asks the components for their joints at each call. */
export class FrameSystem {
  #configured: readonly DescribedPart[] = [];
  #parts: readonly DescribedPart[] = [];
  #remotes: readonly RemoteFrames[] = [];
  #logged = "";

  constructor(private readonly options: FrameSystemOptions) {}

  /**
   * Takes the frames of these components and remotes; what is wrong with them is logged when it is
   * new. Remotes are queried at each call.
   */
  setComponents(
    components: readonly ResourceConfig[],
    remotes: readonly RemoteFrames[] = [],
  ): void {
    this.#configured = components.flatMap(configuredPart);
    this.#remotes = remotes;
    if (remotes.length === 0) this.#parts = this.#sorted(this.#configured);
  }

  #sorted(all: readonly DescribedPart[]): readonly DescribedPart[] {
    const { parts, problems } = frameTree(all);
    const problem = problems.join("; ");
    if (problem !== "" && problem !== this.#logged) this.options.log.warn(`frames: ${problem}`);
    this.#logged = problem;
    return parts;
  }

  /**
   * The answer to FrameSystemConfig. Parts that do not answer are reported without their joints.
   *
   * @param asking ids of the machines for which it is; their frames are left out.
   */
  async config(
    supplemental: readonly Transform[],
    signal: AbortSignal,
    asking: readonly string[] = [],
  ) {
    const parts = await this.#with(supplemental, signal, asking);
    return {
      frameSystemConfigs: await Promise.all(parts.map(async (part) => ({
        frame: frameMessage(part),
        ...await this.#kinematicsMessage(part, signal),
      }))),
    };
  }

  /** The answer to GetPose: where a component is, seen from the world or another frame. */
  async pose(request: GetPoseRequest, signal: AbortSignal) {
    const { componentName, destinationFrame, supplementalTransforms } = request;
    if (componentName === "") throw missing("component_name");
    const source = componentName.slice(componentName.indexOf("/") + 1);
    const destination = destinationFrame || WORLD;
    const pose = await this.#between(source, destination, supplementalTransforms, signal);
    return { pose: { referenceFrame: destination, pose: toPoseMessage(pose) } };
  }

  /** The answer to TransformPose. */
  async transformPose(request: TransformPoseRequest, signal: AbortSignal) {
    const { source, destination, supplementalTransforms } = request;
    if (!source?.referenceFrame) throw missing("source.reference_frame");
    if (destination === "") throw missing("destination");
    const frame = source.referenceFrame;
    const way = await this.#between(frame, destination, supplementalTransforms, signal);
    const pose = compose(way, ofPoseMessage(source.pose));
    return { pose: { referenceFrame: destination, pose: toPoseMessage(pose) } };
  }

  /** The answer to TransformPCD. */
  async transformPcd(
    { pointCloudPcd, source, destination }: TransformPCDRequest,
    signal: AbortSignal,
  ) {
    if (source === "") throw missing("source");
    const way = await this.#between(source, destination || WORLD, [], signal);
    return { pointCloudPcd: transformPointCloud(pointCloudPcd, way) };
  }

  /** All frames as they are now. @throws {ConnectError} UNAVAILABLE when joints are not known. */
  async snapshot(
    supplemental: readonly Transform[],
    signal: AbortSignal,
  ): Promise<FrameSnapshot> {
    const parts = await this.#with(supplemental, signal);
    return new FrameSnapshot(
      await Promise.all(parts.map(async (part) => {
        const joints = await this.#joints(part, signal);
        return { ...part, ...joints };
      })),
    );
  }

  /** The frames of configuration and remotes, with those that the caller adds. */
  async #with(
    supplemental: readonly Transform[],
    signal: AbortSignal,
    asking: readonly string[] = [],
  ): Promise<readonly DescribedPart[]> {
    const own = this.#remotes.length === 0 ? this.#parts : await this.#withRemotes(signal, asking);
    if (supplemental.length === 0) return own;
    const { parts, problems } = frameTree([...own, ...supplemental.map(describedPart)]);
    if (problems.length > 0) {
      throw new ConnectError(`supplemental_transforms: ${problems[0]}`, Code.InvalidArgument);
    }
    return parts;
  }

  /** A remote that does not answer is left out, with all that stands in it. */
  async #withRemotes(
    signal: AbortSignal,
    asking: readonly string[],
  ): Promise<readonly DescribedPart[]> {
    const { clock, log } = this.options;
    let leftOut = false;
    const found = await Promise.all(this.#remotes.map(async (remote) => {
      try {
        const configs = await withDeadline((signal) => remote.ask(signal, asking), {
          ...{ clock, deadlineMs: PART_DEADLINE_MS, what: "its answer", signal },
        });
        const parts = configs.slice(0, MOST_REMOTE_PARTS).flatMap((one) => this.#remotePart(one));
        return [...framedPart(remote.world, remote.frame), ...parts];
      } catch (error) {
        signal.throwIfAborted();
        leftOut = true;
        log.debug(`frames of ${remote.world} are left out: ${toError(error).message}`);
        return [];
      }
    }));
    const all = [...this.#configured, ...found.flat()];
    // Those who ask are left out on purpose, and what stands in them with them.
    return leftOut && asking.length > 0 ? frameTree(all).parts : this.#sorted(all);
  }

  #remotePart({ frame, kinematics, model }: FrameSystemConfig): DescribedPart[] {
    if (!frame) return [];
    const part = describedPart(frame);
    const key = JOINTED_APIS.map((api) => fullName(api, part.name))
      .find((key) => this.options.resources.peek(key));
    const joints = { ...(kinematics && { kinematics }), ...(model && { model }) };
    return [{ ...part, joints, ...(key !== undefined && { key }) }];
  }

  /** The frame `source`, seen from `destination`. */
  async #between(
    source: string,
    destination: string,
    supplemental: readonly Transform[],
    signal: AbortSignal,
  ): Promise<Pose> {
    const parts = await this.#with(supplemental, signal);
    const frames = new Frames(parts);
    const unknown = [source, destination].find((frame) => !frames.has(frame));
    if (unknown !== undefined) {
      throw new ConnectError(
        `there is no frame ${unknown}; known are ${frames.names().join(", ")}. ` +
          "A component has one when its configuration has a frame",
        Code.NotFound,
      );
    }
    const moved = new Set([...frames.movedBy(source), ...frames.movedBy(destination)]);
    const ends = new Map<string, Pose | undefined>();
    await Promise.all(parts.map(async (part) => {
      if (moved.has(part.name)) ends.set(part.name, await this.#end(part, signal));
    }));
    const [from, to] = [source, destination].map((frame) =>
      frames.inWorld(frame, (part) => ends.get(part))
    );
    return compose(inverse(to!), from!);
  }

  /** Where the end of a part is now, seen from its origin; undefined for one without joints. */
  async #end(part: DescribedPart, signal: AbortSignal): Promise<Pose | undefined> {
    const moved = await this.#joints(part, signal);
    return moved?.chain.endAt(moved.positions);
  }

  /** The joints of a part as they are now; undefined for one without kinematics. */
  async #joints(part: DescribedPart, signal: AbortSignal): Promise<PartJoints | undefined> {
    try {
      const answer = await this.#kinematics(part, signal);
      const chain = answer && await kinematicChain(answer);
      if (!chain) return undefined;
      if (chain.jointCount === 0) return { chain, positions: [] };
      const positions = await this.#ask(part, signal, currentPositions) ?? [];
      chain.endAt(positions); // throws when they do not fit
      return { chain, positions };
    } catch (error) {
      signal.throwIfAborted();
      throw new ConnectError(
        `it is not known where ${part.key} is: ${reasonOf(error)}`,
        Code.Unavailable,
      );
    }
  }

  async #kinematicsMessage(
    part: DescribedPart,
    signal: AbortSignal,
  ): Promise<Pick<FrameSystemConfig, "kinematics" | "model">> {
    if (part.joints) return part.joints;
    try {
      const answer = await this.#kinematics(part, signal);
      if (!answer) return {};
      const file = svaOf(answer);
      return {
        ...(answer.model && { model: answer.model }),
        ...(isJsonObject(file) && { kinematics: file }),
      };
    } catch (error) {
      signal.throwIfAborted();
      this.options.log.debug(`${part.key} does not report its joints: ${toError(error).message}`);
      return {};
    }
  }

  /** What a part reports of its joints; undefined for one that has none. */
  async #kinematics(part: DescribedPart, signal: AbortSignal) {
    try {
      return await this.#ask(part, signal, async (resource, call) => {
        const method = driverMethod(resource, "getKinematics");
        const answer = await method?.call(resource, {}, call) as GetKinematicsResponse | undefined;
        // Drivers may leave fields out.
        return answer && create(GetKinematicsResponseSchema, answer);
      });
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.Unimplemented) return undefined;
      throw error;
    }
  }

  /** Calls the component behind a part, for a bounded time; undefined when there is none. */
  async #ask<T>(
    { key }: DescribedPart,
    signal: AbortSignal,
    question: (resource: Resource, call: { signal: AbortSignal }) => Promise<T>,
  ): Promise<T | undefined> {
    const node = key === undefined ? undefined : this.options.resources.peek(key);
    if (!node) return undefined;
    const { instance } = node;
    if (!instance) throw new Error(node.error || `it is ${node.state}`);
    return await withDeadline((signal) => question(instance, { signal }), {
      clock: this.options.clock,
      deadlineMs: PART_DEADLINE_MS,
      what: "its answer",
      signal,
    });
  }
}

/** No part for a component without a frame. */
function configuredPart({ api, name, frame }: ResourceConfig): DescribedPart[] {
  return framedPart(name, frame, fullName(api, name));
}

function framedPart(name: string, frame: Frame | undefined, key?: string): DescribedPart[] {
  if (!frame) return [];
  const { x = 0, y = 0, z = 0 } = frame.translation ?? {};
  const vector = toOrientationVector(frame.orientation) ?? { x: 0, y: 0, z: 1, theta: 0 };
  const geometry = toGeometry(frame.geometry);
  if (geometry) geometry.label ||= name;
  return [{
    name: frame.id || name,
    parent: frame.parent || WORLD,
    pose: {
      point: { x, y, z },
      rotation: ofOrientation({ oX: vector.x, oY: vector.y, oZ: vector.z, theta: vector.theta }),
    },
    ...(key !== undefined && { key }),
    geometry,
  }];
}

function describedPart(
  { referenceFrame, poseInObserverFrame, physicalObject }: Transform,
): DescribedPart {
  return {
    name: referenceFrame,
    parent: poseInObserverFrame?.referenceFrame || WORLD,
    pose: ofPoseMessage(poseInObserverFrame?.pose),
    geometry: physicalObject,
  };
}

function frameMessage({ name, parent, pose, geometry }: DescribedPart) {
  return {
    referenceFrame: name,
    poseInObserverFrame: { referenceFrame: parent, pose: toPoseMessage(pose) },
    ...(geometry && { physicalObject: geometry }),
  };
}

function missing(field: string): ConnectError {
  return new ConnectError(`${field} is empty; name a frame`, Code.InvalidArgument);
}
