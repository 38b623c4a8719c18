import {
  create,
  type JsonObject,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import {
  GoalState,
  Mode,
  NavErrorCode,
  NavigationService,
  NavMode,
  PositionSchema,
  ZoneSchema,
} from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { MachineSeat } from "../../data/machine_seat.ts";
import type { Driver, UntypedMethod } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { place, World } from "../motion/testing.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { navigationModel } from "./navigation_model.ts";
import { areaOf, isInside } from "./zones.ts";

type Methods = typeof NavigationService.method;

/** A navigation service over a simulated base; what it keeps is in `home`. */
async function navigate(home: string, more: JsonObject = {}, world = new World()) {
  const seat = { machine: { frames: world.frames } } as unknown as MachineSeat;
  const model = navigationModel(
    testEnvironment({ home, clock: world.clock, seat }),
  ) as Model<unknown>;
  const driver = await construct<Driver<typeof NavigationService>, unknown>(
    model,
    {
      ...{ base: "rover", movement_sensor: "gps", meters_per_sec: 1, degs_per_sec: 90 },
      ...{ position_polling_frequency_hz: 10, ...more },
    },
    { dependencies: world.dependencies },
  );
  const call = async <M extends keyof Methods>(
    method: M,
    fields?: MessageInitShape<Methods[M]["input"]>,
  ): Promise<MessageShape<Methods[M]["output"]>> => {
    const { input, output } = NavigationService.method[method];
    const run = (driver as Record<string, unknown>)[method] as UntypedMethod;
    const answer = await run.call(driver, create(input, fields as never), testCall());
    return create(output, answer as never) as MessageShape<Methods[M]["output"]>;
  };
  const goal = async () => (await call("getNavigationStatus")).status!.goal;
  const state = async (wanted: GoalState) => {
    await waitFor(async () => (await goal())?.state === wanted, { deadlineMs: 60_000 });
    return (await goal())!;
  };
  return { world, driver, call, goal, state };
}

async function inFolder(test: (home: string) => Promise<void>): Promise<void> {
  const home = await Deno.makeTempDir();
  try {
    await test(home);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const at = (north: number, east: number, heading?: number) => ({
  value: {
    case: "geoPose" as const,
    value: {
      location: place(north, east),
      ...(heading !== undefined && { orientation: { case: "heading" as const, value: heading } }),
    },
  },
});

Deno.test("waypoints are driven to in turn, and are gone then; a restart knows the others", () =>
  inFolder(async (home) => {
    const first = await navigate(home);
    await first.call("addWaypoint", { location: place(1, 0) });
    await first.call("addWaypoint", { location: place(1, 1) });
    assert.equal((await first.call("getMode")).mode, Mode.MANUAL);
    await first.driver.close?.();
    assert.deepEqual(first.world.trace, [], "a mode that is manual drives nothing");

    const { call, driver, world } = await navigate(home);
    const { waypoints } = await call("getWaypoints");
    assert.equal(waypoints.length, 2);
    assert.match(waypoints[0]!.id, /^[0-9a-f]{24}$/);
    await call("setMode", { mode: Mode.WAYPOINT });
    await waitFor(async () => (await call("getPaths")).paths.length > 0, { deadlineMs: 60_000 });
    const { paths: [path] } = await call("getPaths");
    assert.equal(path!.destinationWaypointId, waypoints[0]!.id);
    assert.ok(Math.abs(path!.geopoints.at(-1)!.latitude - place(1, 0).latitude) < 1e-6);
    await waitFor(async () => (await call("getWaypoints")).waypoints.length === 0, {
      deadlineMs: 60_000,
    });
    assert.ok(Math.hypot(world.x - 1, world.y - 1) < 0.2, `${world.x}, ${world.y}`);
    assert.equal((await call("getMode")).mode, Mode.WAYPOINT, "it waits for more");
    await driver.close?.();
    const third = await navigate(home);
    assert.deepEqual((await third.call("getWaypoints")).waypoints, []);
  }));

Deno.test("a waypoint that is removed or not reached is left; manual stops; explore wants eyes", () =>
  inFolder(async (home) => {
    const { call, driver, world } = await navigate(home);
    await call("addWaypoint", { location: place(50, 0) });
    await call("setMode", { mode: Mode.WAYPOINT });
    await waitFor(() => world.y > 0.5, { deadlineMs: 60_000 });
    const { id } = (await call("getWaypoints")).waypoints[0]!;
    await call("removeWaypoint", { id });
    await waitFor(() => world.stops > 0, { deadlineMs: 60_000 });
    await assert.rejects(call("removeWaypoint", { id }), /not_found.*no waypoint/);
    world.broken = "the wheel is gone";
    await call("addWaypoint", { location: place(60, 0) });
    await waitFor(
      async () => /wheel/.test(String((await driver.getStatus!(testCall()))["reason"])),
      {
        deadlineMs: 60_000,
      },
    );
    assert.equal((await call("getWaypoints")).waypoints.length, 1);
    await call("setMode", { mode: Mode.MANUAL });
    assert.equal((await driver.getStatus!(testCall()))["is_moving"], false);
    await assert.rejects(call("setMode", { mode: Mode.EXPLORE }), /failed_precondition.*detectors/);
    await assert.rejects(call("addWaypoint", { location: { latitude: 91 } }), /latitude: found 91/);
    await driver.close?.();
  }));

Deno.test("explore drives about within the bounds, and around what is seen", () =>
  inFolder(async (home) => {
    const world = new World();
    world.balls = [{ x: 1, y: 1, r: 0.4 }];
    const { call, driver } = await navigate(home, {
      obstacle_detectors: [{ vision_service: "eyes", camera: "cam" }],
      obstacle_polling_frequency_hz: 10,
      bounding_regions: [{
        location: place(0, 0),
        geometries: [{ type: "box", x: 8_000, y: 8_000, z: 1 }],
      }],
    }, world);
    await call("setMode", { mode: Mode.EXPLORE });
    assert.equal((await call("getMode")).mode, Mode.EXPLORE);
    const driven = () => {
      const steps = world.trace.slice(1).map((to, at) =>
        Math.hypot(to.x - world.trace[at]!.x, to.y - world.trace[at]!.y)
      );
      return steps.reduce((sum, step) => sum + step, 0);
    };
    await waitFor(() => driven() > 15, { deadlineMs: 60_000 });
    for (const { x, y } of world.trace) {
      assert.ok(Math.max(Math.abs(x), Math.abs(y)) < 4.2, `${x}, ${y} is out of bounds`);
      assert.ok(Math.hypot(x - 1, y - 1) > 0.55, `${x}, ${y} is too near to the ball`);
    }
    assert.equal((await driver.getStatus!(testCall()))["is_moving"], true);
    await call("setMode", { mode: Mode.MANUAL });
    assert.equal((await driver.getStatus!(testCall()))["is_moving"], false);
    const stood = driven();
    assert.equal(driven(), stood);
    await driver.close?.();
  }));

Deno.test("NavigateToPoint drives around obstacles and keepout zones, and reports its progress", () =>
  inFolder(async (home) => {
    const { call, driver, world, state } = await navigate(home, {
      obstacles: [{ location: place(2, 0), geometries: [{ r: 400, label: "tree" }] }],
    });
    await call("addZone", {
      ...{ zoneName: "pond", type: "keepout" },
      geometry: {
        type: "Polygon",
        coordinates: [[[-1, 4], [1, 4], [1, 6], [-1, 6], [-1, 4]].map(([east, north]) => {
          const { latitude, longitude } = place(north!, east!);
          return [longitude, latitude];
        })],
      },
    });
    assert.equal((await call("getObstacles")).obstacles.length, 5);
    const { plan } = await call("planToPoint", { destination: at(8, 0) });
    assert.ok(plan!.path.length > 3 && plan!.lengthM > 8.2 && plan!.lengthM < 10);
    assert.deepEqual(world.trace, []);
    const begun = (await call("navigateToPoint", { destination: at(8, 0, 90) })).status!.goal!;
    assert.deepEqual([begun.state, begun.mode], [GoalState.ACTIVE, NavMode.PLANNED]);
    await waitFor(() => world.y > 1, { deadlineMs: 60_000 });
    const { status } = await call("getNavigationStatus");
    const { distanceRemainingM, lengthM } = status!.goal!.progress!;
    assert.ok(distanceRemainingM > 5 && distanceRemainingM < lengthM, `${distanceRemainingM}`);
    assert.equal(status!.localized, true);
    const ended = await state(GoalState.SUCCEEDED);
    assert.ok(ended.finishedAt && Math.abs(world.heading - 90) < 5);
    assert.deepEqual(world.trace.filter(({ x, y }) => Math.abs(x) < 1 && y > 4 && y < 6), []);
    assert.deepEqual(world.trace.filter(({ x, y }) => Math.hypot(x, y - 2) < 0.5), []);
    await call("navigateToPoint", { destination: at(5, 0) });
    const failed = await state(GoalState.FAILED);
    assert.equal(failed.error?.code, NavErrorCode.NO_PATH);
    assert.match(failed.error!.message, /inside of the keepout zone pond/);
    await assert.rejects(call("planToPoint", { destination: at(5, 0) }), /keepout zone pond/);
    // Straight through all of it, at its own speed; the call waits.
    const direct = await call("goToPoint", { destination: at(0, 0), linearMPerSec: 2 });
    assert.equal(direct.status?.goal?.state, GoalState.SUCCEEDED);
    assert.ok(world.trace.some(({ x, y }) => Math.abs(x) < 1 && y > 4.5 && y < 5.5));
    await driver.close?.();
  }));

Deno.test("the base stays within bounding_regions of the attributes", () =>
  inFolder(async (home) => {
    const geometries = [{ type: "box", x: 2_000, y: 6_000, z: 1 }];
    const { call, driver, state, world } = await navigate(home, {
      bounding_regions: [{ location: place(2, 0), geometries }],
    });
    await call("navigateToPoint", { destination: at(3, 0) });
    await state(GoalState.SUCCEEDED);
    const stood = world.trace.length;
    await assert.rejects(call("planToPoint", { destination: at(3, 3) }), /outside of the bounding/);
    await call("navigateToPoint", { destination: at(3, 3) });
    assert.match((await state(GoalState.FAILED)).error!.message, /outside of the bounding/);
    assert.equal(world.trace.slice(stood).filter(({ x }) => Math.abs(x) > 0.2).length, 0);
    await driver.close?.();
  }));

Deno.test("a goal is suspended with a reason, resumed where it was, and cancelled", () =>
  inFolder(async (home) => {
    const { call, driver, world, state } = await navigate(home);
    await assert.rejects(call("suspend", { reason: "x" }), /failed_precondition.*no goal/);
    await call("addLocation", { locationName: "dock", position: at(3, 0) });
    const begun = (await call("navigateToLocation", { locationName: "dock" })).status!.goal!;
    assert.equal(begun.location, "dock");
    await waitFor(() => world.y > 1, { deadlineMs: 60_000 });
    const suspended = (await call("suspend", { reason: "a person" })).status!.goal!;
    assert.deepEqual([suspended.state, suspended.suspendReason], [GoalState.SUSPENDED, "a person"]);
    assert.equal(world.stops, 1);
    const stood = world.y;
    await world.clock.sleep(1_000);
    assert.equal(world.y, stood, "it stands");
    assert.equal((await call("resume")).status?.goal?.state, GoalState.ACTIVE);
    await state(GoalState.SUCCEEDED);
    assert.ok(Math.abs(world.y - 3) < 0.2);
    await call("navigateToPoint", { destination: at(9, 0) });
    assert.equal((await call("cancel")).status?.goal?.state, GoalState.CANCELED);
    await assert.rejects(call("resume"), /no goal that could be resumed/);
    // StopAll: it can be resumed, but does not drive on its own.
    await call("navigateToPoint", { destination: at(9, 0) });
    await driver.stop!(testCall());
    assert.equal((await state(GoalState.SUSPENDED)).suspendReason, "everything was stopped");
    // Of calls at the same time one drives.
    await Promise.all([
      call("navigateToPoint", { destination: at(20, 0) }),
      call("addWaypoint", { location: place(30, 0) }),
      call("setMode", { mode: Mode.WAYPOINT }),
    ]);
    await waitFor(async () => {
      const { mode } = await call("getMode");
      const { status } = await call("getNavigationStatus");
      return (mode === Mode.WAYPOINT) !== (status?.goal?.state === GoalState.ACTIVE);
    }, { deadlineMs: 60_000 });
    await driver.close?.();
    await assert.rejects(call("navigateToPoint", { destination: at(1, 0) }), /was closed/);
  }));

Deno.test("routes are driven stop by stop, from the nearest one, in laps", () =>
  inFolder(async (home) => {
    const { call, driver, goal, world } = await navigate(home);
    await call("addLocation", { locationName: "a", position: at(5, 0) });
    const waypoints = [
      { value: { case: "location" as const, value: "a" } },
      { value: { case: "position" as const, value: at(0, 0) } },
      { value: { case: "position" as const, value: at(0, 1) } },
    ];
    await call("addRoute", { routeName: "round", waypoints });
    await assert.rejects(call("deleteLocation", { locationName: "a" }), /route round leads to/);
    const { status } = await call("navigateRoute", {
      ...{ routeName: "round", startNearest: true, loop: true },
    });
    assert.equal(status?.goal?.route?.index, 1);
    await waitFor(async () => (await goal())!.route!.lap > 0, {
      deadlineMs: 60_000,
    });
    await waitFor(() => world.y > 3, { deadlineMs: 60_000 });
    await call("cancel");
    await assert.rejects(call("navigateRoute", { routeName: "round", startIndex: 3 }), /0 to 2/);
    await assert.rejects(call("navigateRoute", {}), /has 0 places/);
    await assert.rejects(call("navigateRoute", { routeName: "none" }), /no route none/);
    const waited = await call("navigateRoute", { waypoints: waypoints.slice(1, 2), wait: true });
    assert.equal(waited.status?.goal?.state, GoalState.SUCCEEDED);
    await driver.close?.();
  }));

Deno.test("a base is slower inside of a speed_limit zone, and faster again behind it", () =>
  inFolder(async (home) => {
    const { call, driver, world, state } = await navigate(home);
    await call("addZone", {
      ...{ zoneName: "yard", type: "speed_limit", maxSpeed: 0.2 },
      geometry: { type: "box", center: place(3, 0), width_m: 2, length_m: 1, heading: 0 },
    });
    await call("navigateToPoint", { destination: at(6, 0) });
    await state(GoalState.SUCCEEDED);
    // The trace has one point each 100 ms.
    const fastest = (from: number, to: number) =>
      Math.max(
        ...world.trace.map(({ y }, index) =>
          index > 0 && y > from && y < to ? (y - world.trace[index - 1]!.y) * 10 : 0
        ),
      );
    assert.ok(fastest(2.5, 3.5) <= 0.21, `${fastest(2.5, 3.5)} m/s`);
    assert.ok(fastest(0, 2) > 0.9 && fastest(4, 6) > 0.9);
    await driver.close?.();
  }));

Deno.test("locations, routes and zones are kept; wrong ones change nothing", () =>
  inFolder(async (home) => {
    const { call, driver } = await navigate(home);
    await call("addLocation", { locationName: "here" });
    await call("addLocation", { locationName: "b", position: at(1, 2, 30) });
    await call("updateLocation", { locationName: "b", newName: "c" });
    const circle = { type: "circle", center: place(9, 9), radius_m: 2 };
    await call("addZone", { zoneName: "z", type: "keepout", geometry: circle });
    await call("updateZone", { zoneName: "z", type: "speed_limit", maxSpeed: 0.5 });
    const wrong = async (refused: Promise<unknown>, reason: RegExp) =>
      await assert.rejects(refused, reason);
    await wrong(call("addLocation", { locationName: "here" }), /already_exists/);
    await wrong(call("addLocation", { locationName: "" }), /1 to 200 characters/);
    await wrong(call("getLocation", { locationName: "b" }), /not_found/);
    await wrong(
      call("addLocation", {
        locationName: "map",
        position: { value: { case: "pose", value: {} } },
      }),
      /found a pose on a map/,
    );
    await wrong(call("addZone", { zoneName: "y", type: "keepout" }), /geometry: it is empty/);
    const zone = (geometry: JsonObject, type = "keepout") =>
      call("addZone", { zoneName: "y", type, geometry });
    await wrong(zone(circle, "speed_limit"), /max_speed: found undefined/);
    await wrong(zone(circle, "moat"), /type: found "moat"/);
    await wrong(zone({ ...circle, radius_m: -1 }), /radius_m/);
    await wrong(zone({ type: "star" }), /type: found "star"/);
    await wrong(zone({ type: "polygon", points: [place(0, 0)] }), /3 to 40/);
    const ring = Array.from({ length: 30 }, (_, index) => place(index, index * index));
    await zone({ type: "polygon", points: ring });
    await wrong(
      call("addZone", {
        ...{ zoneName: "x", type: "keepout" },
        geometry: { type: "polygon", points: ring },
      }),
      /resource_exhausted.*50 obstacles/,
    );
    await driver.close?.();

    const again = await navigate(home);
    const { locations } = await again.call("listLocations");
    assert.deepEqual(locations.map(({ name }) => name), ["here", "c"]);
    assert.deepEqual(locations[1]!.position, create(PositionSchema, at(1, 2, 30)));
    const { zones } = await again.call("listZones", { type: "speed_limit" });
    const kept = { name: "z", type: "speed_limit", geometry: circle, maxSpeed: 0.5 };
    assert.deepEqual(zones, [create(ZoneSchema, kept)]);
    const { properties } = await again.call("getProperties");
    assert.deepEqual([properties?.mapType, properties?.footprintWidthM], [2, 0.4]);
    await again.driver.close?.();
  }));

Deno.test("a file of another kind is not overwritten; memory keeps nothing; None drives nothing", () =>
  inFolder(async (home) => {
    const memory = await navigate(home, { store: { type: "memory" } });
    await memory.call("addWaypoint", { location: place(1, 0) });
    assert.deepEqual([...Deno.readDirSync(home)], []);
    const file = join(home, "navigation", "x.json");
    await Deno.mkdir(join(home, "navigation"));
    await Deno.writeTextFile(file, '{"version":1,"waypoints":');
    await assert.rejects(navigate(home), /x\.json is no file of this version/);
    assert.equal(await Deno.readTextFile(file), '{"version":1,"waypoints":');
    const none = await navigate(home, { map_type: "None", store: { type: "memory" } });
    await assert.rejects(none.call("setMode", { mode: Mode.WAYPOINT }), /map_type is None/);
    await assert.rejects(none.call("getPosition"), /map_type is None/);
    assert.equal((await none.call("getProperties")).properties?.mapType, 1);
    for (const { driver } of [memory, none]) await driver.close?.();
  }));

Deno.test("areaOf() and isInside() know turned boxes, polygons with bays, and margins", () => {
  const inside = (geometry: JsonObject, north: number, east: number, margin?: number) =>
    isInside(areaOf(geometry), place(north, east), margin);
  const box = { type: "box", center: place(0, 0), width_m: 1, length_m: 10, heading: 45 };
  assert.ok(
    inside(box, 3, 3) && !inside(box, 3, -3) && !inside(box, 0, 1) && inside(box, 0, 1, 0.5),
  );
  const bay = {
    type: "polygon",
    points: [place(0, 0), place(4, 0), place(4, 4), place(2, 1), place(0, 4)],
  };
  assert.ok(inside(bay, 1, 0.5) && inside(bay, 3.8, 3.5) && !inside(bay, 2, 3));
  assert.ok(!inside(bay, -0.5, 1) && inside(bay, -0.5, 1, 0.6));
});
