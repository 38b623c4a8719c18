/** One drive to one place, by a motion service. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import type { GeoGeometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type {
  MotionService,
  PlanState,
} from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import type { NavErrorCode } from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Used } from "../drivers/dependency.ts";
import { geoBounds, geoObstacles, metersFrom, type Place, placeAt } from "../motion/footprint.ts";
import { radiusOf } from "../motion/motion_service.ts";
import { distance, distanceToLine, NoPathError, shortestPath } from "../motion/path.ts";
import type { NavigationAttributes } from "./navigation_attributes.ts";
import type { Spot } from "./kept.ts";
import type { NavigationStore } from "./navigation_store.ts";
import { areaOf, isInside, obstaclesOf } from "./zones.ts";

const IN_PROGRESS: PlanState.IN_PROGRESS = 1;
const STOPPED: PlanState.STOPPED = 2;
const SUCCEEDED: PlanState.SUCCEEDED = 3;
/** Nothing but obstacles stands between. */
export const NO_PATH: NavErrorCode.NO_PATH = 1;
const LOCALIZATION_LOST: NavErrorCode.LOCALIZATION_LOST = 3;
const BASE_ERROR: NavErrorCode.BASE_ERROR = 4;
const OTHER: NavErrorCode.OTHER = 6;

const DEFAULT_SPEED = 0.3;
const MM = 1_000;
const never = new AbortController().signal;

export interface LegOptions {
  readonly base: Used<typeof BaseService>;
  readonly motion: Used<typeof MotionService>;
  readonly movementSensor: string;
  /** @throws {ConnectError} UNAVAILABLE when it is not known. */
  readonly here: (signal: AbortSignal) => Promise<Place>;
  readonly attributes: NavigationAttributes;
  readonly store: NavigationStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How a place is driven to. */
export interface LegWish {
  readonly spot: Spot;
  /** Straight, whatever stands there and whatever zones say. */
  readonly isDirect?: boolean;
  /** Metres a second. Default: that of the attributes. */
  readonly speed?: number | undefined;
}

/** Why a place was not reached. */
export class LegError extends Error {
  override readonly name = "LegError";
  constructor(readonly code: NavErrorCode, message: string) {
    super(message);
  }
}

/** Drives a base; see {@link LegWish}. */
export class Legs {
  /** The way that is driven now, from where it began. */
  path: readonly Place[] = [];

  constructor(private readonly options: LegOptions) {}

  /** How many obstacles the attributes have. */
  get configuredObstacles(): number {
    const obstacles = this.options.attributes.obstacles ?? [];
    return obstacles.reduce((sum, { geometries }) => sum + geometries.length, 0);
  }

  /** What is configured to stand in the way, and the zones to keep out of. */
  obstacles(): GeoGeometry[] {
    const { attributes, store } = this.options;
    const zones = store.kept.zones.filter(({ type }) => type === "keepout");
    return [
      ...attributes.obstacles ?? [],
      ...zones.flatMap(({ name, geometry }) => obstaclesOf(areaOf(geometry), name)),
    ];
  }

  /** Some place, so many metres away at most. Nothing says that it can be driven to. */
  async anywhere(metres: number, signal: AbortSignal): Promise<Spot> {
    const at = await this.options.here(signal);
    const away = metres * Math.sqrt(Math.random());
    const angle = 2 * Math.PI * Math.random();
    return placeAt(at, { x: away * Math.sin(angle), y: away * Math.cos(angle) });
  }

  /** What sees obstacles while the base drives. */
  get hasDetectors(): boolean {
    return (this.options.attributes.obstacle_detectors ?? []).length > 0;
  }

  /** The way that would be driven. @throws {ConnectError} FAILED_PRECONDITION when there is none. */
  async plan(from: Place, to: Place, signal: AbortSignal): Promise<Place[]> {
    this.#checkZones(to);
    const radius = await radiusOf(this.options.base, signal);
    const obstacles = geoObstacles(this.obstacles(), from, radius);
    const bounds = geoBounds(this.options.attributes.bounding_regions ?? [], from, radius);
    try {
      return shortestPath({ x: 0, y: 0 }, metersFrom(from, to), obstacles, bounds)
        .map((point) => placeAt(from, point));
    } catch (error) {
      if (!(error instanceof NoPathError)) throw error;
      throw new ConnectError(error.message, Code.FailedPrecondition);
    }
  }

  /** Metres to the end of the way, along it. */
  remaining(at: Place): number {
    const points = this.path.map((place) => metersFrom(at, place));
    let least = Infinity;
    let found = 0;
    let rest = 0;
    for (let leg = points.length - 2; leg >= 0; leg--) {
      const [from, to] = [points[leg]!, points[leg + 1]!];
      const off = distanceToLine({ x: 0, y: 0 }, from, to);
      if (off < least) [least, found] = [off, rest + Math.hypot(to.x, to.y)];
      rest += distance(from, to);
    }
    return found;
  }

  /**
   * Resolves when it is there; stops the base when the signal aborts.
   *
   * @throws {LegError} when it does not get there.
   */
  async drive(wish: LegWish, signal: AbortSignal): Promise<void> {
    const { base, motion, clock, log, attributes } = this.options;
    const pollMs = 1_000 / (attributes.position_polling_frequency_hz ?? 1);
    let begun = false;
    try {
      if (!wish.isDirect) this.#checkZones(wish.spot);
      while (true) {
        const at = await this.options.here(signal);
        const limit = this.#limit(at, wish);
        const executionId = await this.#begin(wish, limit, signal);
        begun = true;
        let plans = "";
        while (this.#limit(await this.options.here(signal), wish) === limit) {
          const { currentPlanWithStatus } = await motion.call("getPlan", {
            ...{ componentName: base.name, executionId, lastPlanOnly: true },
          }, signal);
          const { plan, status } = currentPlanWithStatus ?? {};
          if (plan?.id !== undefined && plan.id !== plans) {
            plans = plan.id;
            this.path = (plan.steps ?? []).flatMap(({ step }) => {
              const { x = 0, y = 0 } = step?.[base.name]?.pose ?? {};
              return [placeAt(at, { x: x / MM, y: y / MM })];
            });
          }
          if (status?.state === SUCCEEDED) return;
          if (status?.state === STOPPED) throw new LegError(OTHER, "another call stopped the base");
          if (status?.state !== IN_PROGRESS) {
            throw new LegError(
              BASE_ERROR,
              status?.reason ?? "the motion service abandoned the plan",
            );
          }
          await clock.sleep(pollMs, signal);
        }
      }
    } catch (error) {
      if (begun && !(error instanceof LegError)) {
        // The base must not drive on when nobody looks any more.
        await motion.call("stopPlan", { componentName: base.name }, never).catch((stop) =>
          log.warn("a base could not be stopped", {
            event: "motion_not_stopped",
            base: base.name,
            reason: reasonOf(stop),
          })
        );
      }
      throw signal.aborted ? signal.reason : legError(error);
    } finally {
      this.path = [];
    }
  }

  async #begin(
    { spot, isDirect }: LegWish,
    speed: number,
    signal: AbortSignal,
  ): Promise<string> {
    const { base, motion, movementSensor, attributes } = this.options;
    const { executionId = "" } = await motion.call("moveOnGlobe", {
      componentName: base.name,
      movementSensorName: movementSensor,
      destination: { latitude: spot.latitude, longitude: spot.longitude },
      ...(spot.heading !== undefined && { heading: spot.heading }),
      ...(!isDirect && {
        obstacles: this.obstacles(),
        boundingRegions: attributes.bounding_regions ?? [],
      }),
      motionConfiguration: {
        linearMPerSec: speed,
        angularDegsPerSec: attributes.degs_per_sec ?? 20,
        planDeviationM: attributes.plan_deviation_m ?? 2.6,
        ...(attributes.position_polling_frequency_hz !== undefined && {
          positionPollingFrequencyHz: attributes.position_polling_frequency_hz,
        }),
        ...(attributes.obstacle_polling_frequency_hz !== undefined && {
          obstaclePollingFrequencyHz: attributes.obstacle_polling_frequency_hz,
        }),
        obstacleDetectors: (isDirect ? [] : attributes.obstacle_detectors ?? []).map((
          { vision_service, camera },
        ) => ({ visionService: vision_service, camera })),
      },
    }, signal);
    return executionId;
  }

  /** Metres a second that are allowed where the base is, or will be before the next look. */
  #limit(at: Place, { isDirect, speed: wished }: LegWish): number {
    const { attributes, store } = this.options;
    const speed = wished ?? attributes.meters_per_sec ?? DEFAULT_SPEED;
    if (isDirect) return speed;
    const margin = 2 * speed / (attributes.position_polling_frequency_hz ?? 1);
    return store.kept.zones
      .filter(({ type, geometry }) =>
        type === "speed_limit" && isInside(areaOf(geometry), at, margin)
      )
      .reduce((least, { maxSpeed = speed }) => Math.min(least, maxSpeed), speed);
  }

  #checkZones(to: Place): void {
    const zone = this.options.store.kept.zones.find(({ type, geometry }) =>
      type === "keepout" && isInside(areaOf(geometry), to)
    );
    if (!zone) return;
    throw new ConnectError(
      `the destination is inside of the keepout zone ${zone.name}`,
      Code.FailedPrecondition,
    );
  }
}

function legError(thrown: unknown): LegError {
  if (thrown instanceof LegError) return thrown;
  const { code, rawMessage } = ConnectError.from(toError(thrown));
  if (code === Code.FailedPrecondition) return new LegError(NO_PATH, rawMessage);
  return new LegError(code === Code.Unavailable ? LOCALIZATION_LOST : OTHER, rawMessage);
}
