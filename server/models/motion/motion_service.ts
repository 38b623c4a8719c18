import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type {
  GetPlanRequest,
  GetPoseRequest,
  MotionConfiguration,
  MotionService,
  MoveOnGlobeRequest,
  MoveOnMapRequest,
  MoveRequest,
  PlanState,
} from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import { GetPoseRequestSchema as MachineGetPoseRequestSchema } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { SLAMService } from "../../../shared/gen/viam/service/slam/v1/slam_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { FrameSystem } from "../../resources/frames/frame_system.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import { ArmMover } from "../arm_planning/arm_mover.ts";
import { measuring, type Used, useDriver } from "../drivers/dependency.ts";
import { finite } from "../drivers/motion.ts";
import { drive, type DriveOptions, LeftPathError, type Stand } from "./drive.ts";
import { Execution, Executions, planMessage } from "./executions.ts";
import { geoBounds, geoObstacles, mapObstacles, metersFrom } from "./footprint.ts";
import { BlockedError, Lookout } from "./lookout.ts";
import { NoPathError, type Obstacle, type Point, shortestPath } from "./path.ts";

const BASE = "rdk:component:base";
const STOPPED: PlanState.STOPPED = 2;
const SUCCEEDED: PlanState.SUCCEEDED = 3;
const FAILED: PlanState.FAILED = 4;

/** Of a MotionConfiguration that names none. */
const DEFAULTS = { pollHz: 10, obstacleHz: 1, deviation: 2.6, speed: 0.3, turnSpeed: 20 };
/** A base is planned for again so often. */
const MOST_PLANS = 20;
const MM = 1_000;

/** Where the machine's parts are. */
export type MotionFrames = Pick<FrameSystem, "snapshot" | "pose">;

export interface MotionOptions {
  /** Default: not known; then arms are not moved. */
  readonly frames?: (() => MotionFrames | undefined) | undefined;
  /** What ways of arms are looked for with. Default: chance. */
  readonly random?: () => number;
  readonly dependencies: ReadonlyMap<string, Resource>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Where a base is to go. */
interface Wanted {
  readonly base: Used<typeof BaseService>;
  readonly look: (signal: AbortSignal) => Promise<Stand>;
  readonly goal: Point;
  readonly heading: number | undefined;
  readonly obstacles: readonly Obstacle[];
  /** Where it has to stay; anywhere when there are none. */
  readonly bounds: readonly Obstacle[];
  readonly configuration: MotionConfiguration | undefined;
  /** What sees obstacles of which the request knows nothing. */
  readonly lookout: Lookout;
  /** How often everything was stopped when the call came. */
  readonly stops: number;
}

/** See {@link motionModel}. */
export class MotionDriver implements Driver<typeof MotionService> {
  readonly #executions: Executions;
  readonly #arms: ArmMover;
  readonly #running = new Map<string, { stop: AbortController; done: Promise<void> }>();

  /** How often everything was stopped. */
  #stops = 0;
  #isClosed = false;

  constructor(private readonly options: MotionOptions) {
    this.#executions = new Executions(options.clock);
    this.#arms = new ArmMover({ ...options, frames: () => this.#frames() });
  }

  async moveOnGlobe(request: MoveOnGlobeRequest, { signal }: CallContext) {
    const { destination } = request;
    if (!destination) throw new ConnectError("destination: it is empty", Code.InvalidArgument);
    finite(destination.latitude, "destination.latitude");
    finite(destination.longitude, "destination.longitude");
    const base = this.#base(request.componentName);
    const { dependencies, clock } = this.options;
    const sensor = measuring(
      useDriver(
        ...[MovementSensorService, "rdk:component:movement_sensor"] as const,
        request.movementSensorName,
        dependencies,
      ),
      clock,
    );
    const placed = async (signal: AbortSignal) => {
      const { coordinate } = await sensor.call("getPosition", {}, signal);
      const { latitude = NaN, longitude = NaN } = coordinate ?? {};
      return { latitude, longitude };
    };
    const stops = this.#stops;
    const [origin, radius] = [await placed(signal), await radiusOf(base, signal)];
    const look = async (signal: AbortSignal): Promise<Stand> => {
      const [place, heading] = await Promise.all([placed(signal), headingOf(sensor, signal)]);
      return known({ ...metersFrom(origin, place), heading }, sensor.name);
    };
    return await this.#begin({
      ...{ base, look, goal: metersFrom(origin, destination), heading: request.heading, stops },
      obstacles: geoObstacles(request.obstacles, origin, radius),
      bounds: geoBounds(request.boundingRegions, origin, radius),
      configuration: request.motionConfiguration,
      lookout: this.#lookout(base, radius, look, request.motionConfiguration),
    }, signal);
  }

  async moveOnMap(request: MoveOnMapRequest, { signal }: CallContext) {
    const { destination } = request;
    if (!destination) throw new ConnectError("destination: it is empty", Code.InvalidArgument);
    const base = this.#base(request.componentName);
    const { dependencies, clock } = this.options;
    const slam = measuring(
      useDriver(
        ...[SLAMService, "rdk:service:slam", request.slamServiceName] as const,
        dependencies,
      ),
      clock,
    );
    const look = async (signal: AbortSignal): Promise<Stand> => {
      const { pose } = await slam.call("getPosition", {}, signal);
      const { x = NaN, y = NaN, theta = 0 } = pose ?? {};
      return known({ x: x / MM, y: y / MM, heading: -theta }, slam.name);
    };
    const { x, y, oZ, theta } = destination;
    const stops = this.#stops;
    const radius = await radiusOf(base, signal);
    return await this.#begin({
      ...{ base, look, stops },
      goal: { x: finite(x, "destination.x") / MM, y: finite(y, "destination.y") / MM },
      // A pose without an orientation names no heading.
      heading: oZ === 0 && theta === 0 ? undefined : -finite(theta, "destination.theta"),
      obstacles: mapObstacles(request.obstacles, radius),
      bounds: [],
      configuration: request.motionConfiguration,
      lookout: this.#lookout(base, radius, look, request.motionConfiguration),
    }, signal);
  }

  async stopPlan({ componentName }: { readonly componentName: string }) {
    this.#executions.find(componentName, undefined);
    await this.#stop(componentName);
    return {};
  }

  listPlanStatuses({ onlyActivePlans }: { readonly onlyActivePlans: boolean }) {
    return { planStatusesWithIds: this.#executions.statuses(onlyActivePlans) };
  }

  getPlan({ componentName, executionId, lastPlanOnly }: GetPlanRequest) {
    const execution = this.#executions.find(componentName, executionId);
    const plans = execution.plans.map((plan) => planMessage(execution, plan));
    return {
      currentPlanWithStatus: plans.at(-1)!,
      replanHistory: lastPlanOnly ? [] : plans.slice(0, -1),
    };
  }

  /** Of an arm, or of what stands on its end. */
  move(request: MoveRequest, call: CallContext) {
    return this.#arms.move(request, call);
  }

  /** Older clients look for the place of a frame here. */
  async getPose(request: GetPoseRequest, { signal }: CallContext) {
    const { destinationFrame, supplementalTransforms } = request;
    const componentName = request.componentName || request.componentNameDeprecated?.name || "";
    return await this.#frames().pose(
      create(MachineGetPoseRequestSchema, {
        ...{ componentName, destinationFrame, supplementalTransforms },
      }),
      signal,
    );
  }

  getStatus() {
    return { moving: [...this.#running.keys(), ...this.#arms.moving] };
  }

  /** All of them: what was stopped by StopAll must not be moved on. */
  async stop(): Promise<void> {
    this.#stops++;
    await Promise.all([
      this.#arms.stop(),
      ...[...this.#running.keys()].map((component) => this.#stop(component)),
    ]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.stop();
  }

  /** @throws {ConnectError} without a machine. */
  #frames(): MotionFrames {
    const frames = this.options.frames?.();
    if (frames) return frames;
    throw new ConnectError("it does not know the frames of the machine", Code.Unimplemented);
  }

  #base(name: string): Used<typeof BaseService> {
    return useDriver(BaseService, BASE, name, this.options.dependencies);
  }

  #lookout(
    base: Used<typeof BaseService>,
    radius: number,
    look: Wanted["look"],
    configuration: MotionConfiguration | undefined,
  ): Lookout {
    const { obstacleDetectors: detectors = [], obstaclePollingFrequencyHz: hz } = configuration ??
      {};
    const polls = positive(hz, "obstacle_polling_frequency_hz", DEFAULTS.obstacleHz);
    return new Lookout({
      ...{ detectors, base: base.name, radius, look, frames: () => this.#frames() },
      ...{ dependencies: this.options.dependencies, clock: this.options.clock },
      pollMs: 1_000 / Math.min(10, polls),
    });
  }

  /** Plans, and drives on after the call. A base that is on its way is stopped first. */
  async #begin(wanted: Wanted, signal: AbortSignal) {
    const { base, look, heading, lookout } = wanted;
    const settings = settingsOf(wanted, this.options.clock);
    await lookout.lookOnce(signal);
    const path = planned(await look(signal), wanted);
    // Another call may have begun meanwhile.
    while (this.#running.has(base.name)) await this.#stop(base.name);
    if (this.#stops !== wanted.stops) {
      throw new ConnectError("it was stopped before the base moved", Code.Aborted);
    }
    if (this.#isClosed) throw new ConnectError("the service was closed", Code.Unavailable);
    const execution = new Execution(base.name, this.options.clock);
    execution.begin(path, heading);
    this.#executions.add(execution);
    const stop = new AbortController();
    const done = this.#run(execution, wanted, path, settings, stop.signal)
      .finally(() => this.#running.delete(base.name));
    this.#running.set(base.name, { stop, done });
    return { executionId: execution.id };
  }

  async #stop(component: string): Promise<void> {
    const running = this.#running.get(component);
    running?.stop.abort(new Error("it was stopped"));
    await running?.done;
  }

  /** Never rejects: what happens is in the execution. */
  async #run(
    execution: Execution,
    wanted: Wanted,
    first: readonly Point[],
    settings: DriveOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const { base, look, heading, lookout } = wanted;
    let path = first;
    const watching = lookout.watch(signal);
    try {
      while (true) {
        try {
          await drive(path, heading, settings, signal);
          break;
        } catch (error) {
          const isBlocked = error instanceof BlockedError;
          if (!isBlocked && !(error instanceof LeftPathError)) throw error;
          if (isBlocked) await base.stop();
          if (execution.plans.length >= MOST_PLANS) throw error;
          path = planned(await look(signal), wanted);
          execution.end(FAILED, error.message);
          execution.begin(path, heading);
        }
      }
      await base.stop();
      execution.end(SUCCEEDED);
    } catch (error) {
      const reason = reasonOf(error);
      const failed = await base.stop().then(() => "", (stop) => `; ${reasonOf(stop)}`);
      if (signal.aborted && failed === "") execution.end(STOPPED);
      else execution.end(FAILED, reason + failed);
      if (!signal.aborted || failed !== "") {
        this.options.log.warn("a base does not get to where it was sent", {
          ...{ base: base.name, reason: reason + failed },
        });
      }
    } finally {
      await watching.end();
    }
  }
}

function planned(at: Point, { goal, obstacles, bounds, lookout }: Wanted): Point[] {
  const around = (seen: readonly Obstacle[]) =>
    shortestPath(at, goal, [...obstacles, ...seen], bounds);
  try {
    try {
      return around(lookout.obstacles(at));
    } catch {
      // What stood in the way before may be gone.
      return around(lookout.seen(at));
    }
  } catch (error) {
    if (!(error instanceof NoPathError)) throw error;
    throw new ConnectError(error.message, Code.FailedPrecondition);
  }
}

function settingsOf({ base, look, configuration, lookout }: Wanted, clock: Clock): DriveOptions {
  const { pollHz, deviation, speed, turnSpeed } = DEFAULTS;
  const polls = positive(
    configuration?.positionPollingFrequencyHz,
    "position_polling_frequency_hz",
    pollHz,
  );
  return {
    ...{ clock, look, check: (way) => lookout.check(way) },
    move: async (forward, turn, signal) => {
      const [linear, angular] = [{ y: forward * MM }, { z: turn }];
      const zero = { x: 0, y: 0, z: 0 };
      await base.call("setVelocity", {
        linear: { $typeName: "viam.common.v1.Vector3", ...zero, ...linear },
        angular: { $typeName: "viam.common.v1.Vector3", ...zero, ...angular },
      }, signal);
    },
    pollMs: 1_000 / Math.min(100, polls),
    speed: positive(configuration?.linearMPerSec, "linear_m_per_sec", speed),
    turnSpeed: positive(configuration?.angularDegsPerSec, "angular_degs_per_sec", turnSpeed),
    deviation: positive(configuration?.planDeviationM, "plan_deviation_m", deviation),
  };
}

function positive(value: number | undefined, name: string, otherwise: number): number {
  if (value === undefined || value === 0) return otherwise;
  if (value > 0 && Number.isFinite(value)) return value;
  throw new ConnectError(`${name}: found ${value}, allowed: more than 0`, Code.InvalidArgument);
}

/** Of the disc that a base takes up, whatever way it faces. Metres. */
export async function radiusOf(
  base: Used<typeof BaseService>,
  signal: AbortSignal,
): Promise<number> {
  const { widthMeters = 0 } = await base.call("getProperties", {}, signal);
  return widthMeters * Math.SQRT1_2;
}

async function headingOf(sensor: Used<typeof MovementSensorService>, signal: AbortSignal) {
  const { value = NaN } = await sensor.call("getCompassHeading", {}, signal);
  return value;
}

function known(stand: Stand, name: string): Stand {
  if ([stand.x, stand.y, stand.heading].every(Number.isFinite)) return stand;
  throw new ConnectError(`${name} does not know where the base is`, Code.Unavailable);
}
