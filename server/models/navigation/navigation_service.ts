import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { MotionService } from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import {
  type MapType,
  type Mode,
  type NavigationService,
  type NavMode,
  type Position,
  type Waypoint,
  WaypointSchema,
} from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import { measuring, useDriver } from "../drivers/dependency.ts";
import { distance } from "../motion/path.ts";
import { metersFrom } from "../motion/footprint.ts";
import { MotionDriver, type MotionFrames } from "../motion/motion_service.ts";
import { Goals, type GoalStop } from "./goals.ts";
import { Legs } from "./leg.ts";
import { globeLocation } from "./globe_location.ts";
import type { NavigationAttributes } from "./navigation_attributes.ts";
import type { Spot, Stop } from "./kept.ts";
import type { NavigationStore } from "./navigation_store.ts";
import { positionMessage, spotOf } from "./positions.ts";
import { found, savedPlaces, stopsOf, waypointMessage } from "./saved_places.ts";
import { Waypoints } from "./waypoints.ts";

const LOCAL: MapType.LOCAL = 1;
const GPS: MapType.GPS = 2;
const MANUAL: Mode.MANUAL = 1;
const WAYPOINT: Mode.WAYPOINT = 2;
const EXPLORE: Mode.EXPLORE = 3;
const PLANNED: NavMode.PLANNED = 1;
const DIRECT: NavMode.DIRECT = 2;
const ROUTE: NavMode.ROUTE = 3;
const MOST_STOPS = 1_000;

export interface NavigationOptions {
  readonly attributes: NavigationAttributes;
  readonly dependencies: ReadonlyMap<string, Resource>;
  readonly store: NavigationStore;
  /** Where the machine's parts are. */
  readonly frames: () => MotionFrames | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** See {@link navigationModel}. */
export function navigationDriver(options: NavigationOptions): Driver<typeof NavigationService> {
  const { attributes, dependencies, store, clock, log } = options;
  const isGps = attributes.map_type !== "None";
  const base = useDriver(BaseService, "rdk:component:base", attributes.base, dependencies);
  const sensor = attributes.movement_sensor === undefined ? undefined : measuring(
    useDriver(
      MovementSensorService,
      "rdk:component:movement_sensor",
      attributes.movement_sensor,
      dependencies,
    ),
    clock,
  );
  const { motion, closeMotion } = motionOf(options);

  const here = async (signal: AbortSignal): Promise<Spot> => {
    if (!isGps || !sensor) {
      throw new ConnectError(
        "map_type is None: the service does not know where the base is, and drives nothing",
        Code.FailedPrecondition,
      );
    }
    const [{ coordinate }, heading] = await Promise.all([
      sensor.call("getPosition", {}, signal),
      sensor.call("getCompassHeading", {}, signal).then(({ value }) => value, () => undefined),
    ]);
    const { latitude = NaN, longitude = NaN } = coordinate ?? {};
    if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) {
      return { latitude, longitude, ...(Number.isFinite(heading) && { heading: heading! }) };
    }
    throw new ConnectError(`${sensor.name} does not know where the base is`, Code.Unavailable);
  };

  const legs = new Legs({
    ...{ base, motion, here, attributes, store, clock, log },
    movementSensor: attributes.movement_sensor ?? "",
  });
  const goals = new Goals({ legs, clock, log });
  const waypoints = new Waypoints({ legs, store, clock, log });

  const velocity = async (signal: AbortSignal) => {
    const still = { linearMPerSec: 0, angularDegPerSec: 0 };
    if (!sensor) return still;
    const [linear, angular] = await Promise.all([
      sensor.call("getLinearVelocity", {}, signal).catch(() => ({ linearVelocity: undefined })),
      sensor.call("getAngularVelocity", {}, signal).catch(() => ({ angularVelocity: undefined })),
    ]);
    return {
      linearMPerSec: linear.linearVelocity?.y ?? 0,
      angularDegPerSec: angular.angularVelocity?.z ?? 0,
    };
  };

  const status = async (signal: AbortSignal) => {
    const at = await here(signal).catch(() => undefined);
    const goal = goals.message(at);
    const isMoving = goals.isActive || waypoints.isDriving;
    return {
      status: {
        ...(at && { position: positionMessage(at) }),
        localized: at !== undefined,
        ...(isMoving && { velocity: await velocity(signal) }),
        ...(goal && { goal }),
        updatedAt: timestampFromDate(clock.now()),
        extra: { mode: modeName(waypoints.mode), reason: goals.reason || waypoints.reason },
      },
    };
  };

  let last: Promise<unknown> = Promise.resolve();
  /** Of calls at the same time one begins after the other, so that one of them drives. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work);
    last = next.catch(() => {});
    return next;
  };

  /** Takes over from what drives. */
  const begin = async (
    wish: Parameters<Goals["start"]>[0],
    call: CallContext,
    wait = false,
  ) => {
    await here(call.signal); // nothing is begun while it is not known where the base is
    const ended = await inTurn(async () => {
      await waypoints.setMode(MANUAL);
      return await goals.start(wish);
    });
    if (wait) await withSignal(ended(), call.signal);
    return await status(call.signal);
  };

  const spots = (stops: readonly Stop[]): GoalStop[] =>
    stops.map((stop) =>
      "spot" in stop
        ? { spot: stop.spot }
        : { spot: found(store.kept, "locations", stop.location).spot, location: stop.location }
    );

  const plan = async (to: Spot, start: Position | undefined, { signal }: CallContext) => {
    const from = start ? spotOf(start, "start") : await here(signal);
    const path = await legs.plan(from, to, signal);
    const points = path.map((place) => metersFrom(from, place));
    return {
      path: path.map((place, at) =>
        positionMessage(at === path.length - 1 ? { ...place, ...headed(to) } : place)
      ),
      lengthM: points.slice(1).reduce((sum, point, at) => sum + distance(points[at]!, point), 0),
    };
  };

  return {
    ...savedPlaces({ store, legs, here }),
    async getLocation({ locationName }, { signal }) {
      if (locationName === "") return globeLocation(await here(signal));
      const { name, spot } = found(store.kept, "locations", locationName);
      return { location: { name, position: positionMessage(spot) } };
    },

    navigateToLocation: ({ locationName }, call) =>
      begin({ mode: PLANNED, stops: spots([{ location: locationName }]) }, call),
    navigateToPoint: ({ destination }, call) =>
      begin({ mode: PLANNED, stops: [{ spot: spotOf(destination, "destination") }] }, call),
    async navigateRoute(request, call) {
      const { routeName, waypoints, startNearest, loop, wait } = request;
      const stops = routeName === ""
        ? stopsOf(store.kept, waypoints)
        : [...found(store.kept, "routes", routeName).stops];
      const targets = spots(stops);
      bounded(targets, routeName || "the route");
      const at = startNearest ? await here(call.signal) : undefined;
      const start = at ? nearest(targets, at) : request.startIndex;
      if (start >= targets.length) {
        throw new ConnectError(
          `start_index: found ${start}, allowed: 0 to ${targets.length - 1}`,
          Code.InvalidArgument,
        );
      }
      const route = { name: routeName, waypoints: stops.map(asWaypoint), start, loop };
      return await begin({ mode: ROUTE, stops: targets, route }, call, wait);
    },
    planToPoint: async ({ destination, start }, call) => ({
      plan: await plan(spotOf(destination, "destination"), start, call),
    }),
    planToLocation: async ({ locationName, start }, call) => ({
      plan: {
        ...await plan(found(store.kept, "locations", locationName).spot, start, call),
        location: locationName,
      },
    }),
    executePlan({ plan }, call) {
      const stops = (plan?.path ?? []).map((position, at) => ({
        spot: spotOf(position, `plan.path[${at}]`),
      }));
      bounded(stops, "plan.path");
      return begin({ mode: PLANNED, stops }, call);
    },
    goToLocation: ({ locationName, wait = true, linearMPerSec: speed }, call) =>
      begin(
        {
          ...{ mode: DIRECT, isDirect: true, speed: checkedSpeed(speed) },
          stops: spots([{ location: locationName }]),
        },
        call,
        wait,
      ),
    goToPoint: ({ destination, wait = true, linearMPerSec: speed }, call) =>
      begin(
        {
          ...{ mode: DIRECT, isDirect: true, speed: checkedSpeed(speed) },
          stops: [{ spot: spotOf(destination, "destination") }],
        },
        call,
        wait,
      ),
    async suspend({ reason }, { signal }) {
      await goals.suspend(reason);
      return await status(signal);
    },
    async resume(_request, { signal }) {
      await here(signal);
      goals.resume();
      return await status(signal);
    },
    async cancel(_request, { signal }) {
      await goals.cancel();
      return await status(signal);
    },
    getPosition: async (_request, { signal }) => ({
      position: positionMessage(await here(signal)),
    }),
    getNavigationStatus: (_request, { signal }) => status(signal),
    async getProperties(_request, { signal }) {
      const { widthMeters = 0 } = await base.call("getProperties", {}, signal);
      return {
        properties: {
          // As None is of older clients.
          mapType: isGps ? GPS : LOCAL,
          ...{ footprintLengthM: widthMeters, footprintWidthM: widthMeters },
          robotRadiusM: widthMeters * Math.SQRT1_2,
          ...{ planningSupported: isGps, costmapSupported: false },
          ...{ zonesSupported: isGps, routesSupported: isGps },
        },
      };
    },
    getCostmap: ({ layer }) => ({ available: false, layer, navBackend: "visibility graph" }),

    getMode: () => ({ mode: waypoints.mode }),
    async setMode({ mode }, { signal }) {
      if (mode === EXPLORE) waypoints.checkExplore();
      if (mode === WAYPOINT || mode === EXPLORE) await here(signal);
      await inTurn(async () => {
        if (mode === WAYPOINT || mode === EXPLORE) await goals.end();
        await waypoints.setMode(mode);
      });
      return {};
    },
    getWaypoints: () => ({
      waypoints: store.kept.waypoints.map(({ id, spot: { latitude, longitude } }) => ({
        id,
        location: { latitude, longitude },
      })),
    }),
    async addWaypoint({ location }) {
      await waypoints.add(location);
      return {};
    },
    async removeWaypoint({ id }) {
      await waypoints.remove(id);
      return {};
    },
    getObstacles: () => ({ obstacles: legs.obstacles() }),
    getPaths() {
      const id = waypoints.current;
      if (id === undefined || legs.path.length === 0) return { paths: [] };
      return { paths: [{ destinationWaypointId: id, geopoints: [...legs.path] }] };
    },

    getStatus(): JsonObject {
      return {
        mode: modeName(waypoints.mode),
        is_moving: goals.isActive || waypoints.isDriving,
        waypoints: store.kept.waypoints.length,
        reason: goals.reason || waypoints.reason,
      };
    },
    stop: () =>
      inTurn(async () => {
        await waypoints.setMode(MANUAL);
        if (goals.isActive) await goals.suspend("everything was stopped");
      }),
    close: () =>
      inTurn(async () => {
        await waypoints.setMode(MANUAL);
        await goals.close();
        await closeMotion();
      }),
  };
}

/** The motion service of the attributes, or one of its own. */
function motionOf({ attributes, dependencies, frames, clock, log }: NavigationOptions) {
  const api = "rdk:service:motion";
  const name = attributes.motion_service ?? "builtin";
  const isThere = dependencies.has(`${api}/${name}`) || dependencies.has(name);
  if (isThere || attributes.motion_service !== undefined) {
    return {
      motion: useDriver(MotionService, api, name, dependencies),
      closeMotion: () => Promise.resolve(),
    };
  }
  const own = new MotionDriver({ dependencies, frames, clock, log });
  const motion = useDriver(MotionService, api, name, new Map([[`${api}/${name}`, own]]));
  return { motion, closeMotion: () => own.close() };
}

function headed({ heading }: Spot): Partial<Spot> {
  return heading === undefined ? {} : { heading };
}

function nearest(stops: readonly GoalStop[], at: Spot): number {
  const away = stops.map(({ spot }) => distance({ x: 0, y: 0 }, metersFrom(at, spot)));
  return away.indexOf(Math.min(...away));
}

function bounded(stops: readonly unknown[], what: string): void {
  if (stops.length > 0 && stops.length <= MOST_STOPS) return;
  throw new ConnectError(
    `${what} has ${stops.length} places; 1 to ${MOST_STOPS} are driven to`,
    Code.InvalidArgument,
  );
}

function checkedSpeed(speed: number | undefined): number | undefined {
  if (speed === undefined || (speed > 0 && Number.isFinite(speed))) return speed;
  throw new ConnectError(
    `linear_m_per_sec: found ${speed}, allowed: more than 0`,
    Code.InvalidArgument,
  );
}

function asWaypoint(stop: Stop): Waypoint {
  return create(WaypointSchema, waypointMessage(stop));
}

function modeName(mode: Mode): string {
  return mode === WAYPOINT ? "waypoint" : mode === EXPLORE ? "explore" : "manual";
}

/** A caller who leaves does not wait any longer; what it waits for continues. */
async function withSignal(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const left = Promise.withResolvers<never>();
  const leave = () => left.reject(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  try {
    await Promise.race([work, left.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
