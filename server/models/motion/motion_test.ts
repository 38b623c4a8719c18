import assert from "node:assert/strict";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import {
  type MoveOnGlobeRequestSchema,
  MoveOnMapRequestSchema,
  PlanState,
} from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import { testCall } from "../testing.ts";
import { metersFrom } from "./footprint.ts";
import {
  disc,
  distance,
  NoPathError,
  type Point,
  rectangle,
  shortestPath,
  shrunk,
} from "./path.ts";
import { place, World } from "./testing.ts";

const length = (way: readonly Point[]) =>
  way.slice(1).reduce((sum, point, index) => sum + distance(way[index]!, point), 0);

Deno.test("shortestPath() goes straight, or around what stands in the way", () => {
  const [start, goal] = [{ x: 0, y: 0 }, { x: 0, y: 10 }];
  assert.deepEqual(shortestPath(start, goal, []), [start, goal]);
  const aside = rectangle({ x: 5, y: 5 }, { x: 2, y: 2 }, 30, 0.3);
  assert.deepEqual(shortestPath(start, goal, [aside]), [start, goal]);
  const wall = rectangle({ x: 1, y: 5 }, { x: 6, y: 1 }, 0, 0.5);
  const around = shortestPath(start, goal, [wall]);
  assert.ok(around.slice(1, -1).every(({ x }) => x < -1.9), "on the shorter side");
  // Straight lines to the corner, with its distance, and not much more.
  assert.ok(length(around) < 2 * Math.hypot(2.5, 5) + 0.6);
  const ball = disc({ x: 0, y: 5 }, 1, 0.3);
  for (let step = 0; step < 100; step++) {
    const way = shortestPath(start, goal, [ball]);
    const leg = Math.min(way.length - 2, Math.floor(step / 100 * (way.length - 1)));
    const share = step / 100 * (way.length - 1) - leg;
    const [from, to] = [way[leg]!, way[leg + 1]!];
    const at = { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
    assert.ok(distance(at, { x: 0, y: 5 }) >= 1.3 - 1e-6);
  }
});

Deno.test("shortestPath() says that there is no way, and leaves what it stands in", () => {
  const goal = { x: 0, y: 10 };
  const box = (x: number, y: number, width: number, depth: number) =>
    rectangle({ x, y }, { x: width, y: depth }, 0, 0);
  assert.throws(() => shortestPath({ x: 0, y: 0 }, goal, [box(0, 10, 1, 1)]), NoPathError);
  const cage = [box(-2, 0, 1, 6), box(2, 0, 1, 6), box(0, 2.5, 6, 1), box(0, -2.5, 6, 1)];
  assert.throws(() => shortestPath({ x: 0, y: 0 }, goal, cage), /no way/);
  assert.equal(shortestPath({ x: 0, y: 0 }, goal, [box(0, 0, 1, 1)]).length, 2);
});

Deno.test("shortestPath() stays in its bounds, from one region into the next", () => {
  const region = (x: number, y: number, width: number, depth: number) =>
    shrunk(rectangle({ x, y }, { x: width, y: depth }, 0, 0), 0.2);
  // An L: up, then to the right.
  const bounds = [region(0, 5, 2, 12), region(5, 10, 12, 2)];
  const [start, goal] = [{ x: 0, y: 0 }, { x: 10, y: 10 }];
  const way = shortestPath(start, goal, [], bounds);
  assert.ok(length(way) > Math.hypot(10, 10) + 1 && length(way) < 20, `${length(way)}`);
  const inside = ({ x, y }: Point) =>
    (Math.abs(x) <= 0.81 && y <= 10.81) || (Math.abs(y - 10) <= 0.81 && x >= -0.81);
  way.slice(1).forEach((to, leg) => {
    for (let share = 0; share <= 1; share += 0.02) {
      const from = way[leg]!;
      const at = { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
      assert.ok(inside(at), JSON.stringify(at));
    }
  });
  const wall = rectangle({ x: 5, y: 9.6 }, { x: 0.4, y: 1 }, 0, 0);
  const around = shortestPath(start, goal, [wall], bounds);
  assert.ok(around.some(({ x, y }) => Math.abs(x - 5) < 0.3 && y > 10.1 && y < 10.81));
  const shut = rectangle({ x: 5, y: 10 }, { x: 0.4, y: 2 }, 0, 0);
  assert.throws(() => shortestPath(start, goal, [shut], bounds), /no way/);
  assert.throws(() => shortestPath(start, { x: 5, y: 5 }, [], bounds), /destination is outside/);
  assert.throws(() => shortestPath({ x: 5, y: 5 }, goal, [], bounds), /base is outside/);
  assert.throws(() => shortestPath(start, goal, [], [bounds[0]!, region(7, 10, 7, 2)]), /no way/);
});

Deno.test("MoveOnGlobe keeps to bounding regions, of which the base needs its width", async () => {
  const world = new World();
  const region = (north: number, east: number, x: number, y: number) => ({
    location: place(north, east),
    geometries: [{
      geometryType: { case: "box" as const, value: { dimsMm: { x, y, z: 1 } } },
      label: "lane",
    }],
  });
  const boundingRegions = [region(2, 0, 1_500, 6_000), region(4, 2, 6_000, 1_500)];
  await world.globe(4, 4, { boundingRegions });
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  const outside = world.trace.filter(({ x, y }) => Math.abs(x) > 0.75 && Math.abs(y - 4) > 0.75);
  assert.deepEqual(outside, []);
  const refused = (more: MessageInitShape<typeof MoveOnGlobeRequestSchema>, reason: RegExp) =>
    assert.rejects(world.globe(4, 0, more), reason);
  await refused({ boundingRegions: [region(0, 0, 300, 300)] }, /lane is smaller than the base/);
  await refused({ boundingRegions: [region(9, 9, 900, 900)] }, /base is outside of the bounding/);
});

Deno.test("metersFrom() knows the date line and narrower circles", () => {
  const across = metersFrom({ latitude: 0, longitude: 179.9995 }, {
    latitude: 0,
    longitude: -179.9995,
  });
  assert.ok(Math.abs(across.x - 111.2) < 0.1);
  const { x, y } = metersFrom(place(0, 0), place(3, 4));
  assert.ok(Math.abs(x - 4) < 1e-3 && Math.abs(y - 3) < 1e-3);
});

Deno.test("MoveOnGlobe drives around an obstacle to the place and heading, after its answer", async () => {
  const world = new World();
  const { executionId } = await world.globe(6, 0, {
    heading: 90,
    obstacles: [{
      location: place(3, 0),
      geometries: [{
        geometryType: { case: "sphere", value: { radiusMm: 800 } },
        label: "tree",
      }],
    }],
  });
  assert.equal(world.plan().currentPlanWithStatus.status?.state, PlanState.IN_PROGRESS);
  assert.deepEqual(world.motion.getStatus(), { moving: ["rover"] });
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  assert.ok(distance(world, { x: 0, y: 6 }) < 0.15);
  assert.ok(Math.abs(world.heading - 90) <= 4);
  const nearest = Math.min(...world.trace.map((at) => distance(at, { x: 0, y: 3 })));
  assert.ok(nearest > 0.95, `${nearest} m from the tree`);
  await waitFor(() => world.motion.getStatus().moving.length === 0, { deadlineMs: 60_000 });
  assert.equal(world.stops, 1);
  const { currentPlanWithStatus: { plan, statusHistory }, replanHistory } = world.plan(executionId);
  assert.deepEqual(replanHistory, []);
  assert.deepEqual(statusHistory?.map(({ state }) => state), [1, 3]);
  assert.ok(plan!.steps!.length > 2);
  const last = plan!.steps!.at(-1)!.step!["rover"]!.pose!;
  assert.ok(Math.abs(last.y! - 6_000) < 1 && last.theta === -90);
  const [status] = world.motion.listPlanStatuses({ onlyActivePlans: false }).planStatusesWithIds;
  assert.deepEqual([status?.executionId, status?.status.state], [executionId, 3]);
  assert.deepEqual(
    world.motion.listPlanStatuses({ onlyActivePlans: true }).planStatusesWithIds,
    [],
  );
});

Deno.test("a base that is pushed off its way is planned for again, in the same execution", async () => {
  const world = new World();
  const { executionId } = await world.globe(4, 0, {
    motionConfiguration: { planDeviationM: 0.5, linearMPerSec: 1, angularDegsPerSec: 90 },
  });
  await waitFor(() => world.y > 1, { deadlineMs: 60_000 });
  world.x += 1;
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  assert.ok(distance(world, { x: 0, y: 4 }) < 0.2);
  const { replanHistory, currentPlanWithStatus } = world.plan(executionId);
  assert.equal(replanHistory.length, 1);
  assert.match(replanHistory[0]!.status!.reason!, /off its way; 0.5 m are allowed/);
  assert.notEqual(replanHistory[0]!.plan!.id, currentPlanWithStatus.plan!.id);
  assert.deepEqual(world.plan(executionId, true).replanHistory, []);
});

Deno.test("StopPlan stops the base; a newer call takes over; close() stops, too", async () => {
  const world = new World();
  const first = await world.globe(50, 0);
  await waitFor(() => world.y > 0.2, { deadlineMs: 60_000 });
  const second = await world.globe(0, 50);
  assert.equal(world.plan(first.executionId).currentPlanWithStatus.status?.state, 2);
  assert.equal(world.stops, 1);
  await world.motion.stopPlan({ componentName: "rover" });
  assert.equal(world.plan(second.executionId).currentPlanWithStatus.status?.state, 2);
  assert.equal(world.stops, 2);
  await world.motion.stopPlan({ componentName: "rover" }); // nothing is under way
  await Promise.all([world.globe(50, 0), world.globe(0, 50)]);
  const active = world.motion.listPlanStatuses({ onlyActivePlans: true }).planStatusesWithIds;
  assert.equal(active.length, 1, "of two calls at the same time one drives");
  await world.motion.close();
  assert.equal(world.stops, 4);
  await assert.rejects(world.globe(1, 0), /the service was closed/);
  await assert.rejects(world.motion.stopPlan({ componentName: "other" }), /no plan of other/);
  assert.throws(() => world.plan("x"), /no execution x of rover/);
});

Deno.test("StopAll, which calls stop() of all resources, ends what drives a base", async () => {
  const world = new World();
  await world.globe(50, 0);
  await waitFor(() => world.y > 0.2, { deadlineMs: 60_000 });
  await world.motion.stop();
  assert.equal((await world.ended()).state, PlanState.STOPPED);
  assert.equal(world.stops, 1);
  // One that has not begun does not begin afterwards.
  const late = assert.rejects(world.globe(60, 0), /aborted.*stopped before the base moved/);
  await world.motion.stop();
  await late;
  assert.deepEqual(world.motion.getStatus(), { moving: [] });
});

Deno.test("a base that fails or does not come forward ends its plan with the reason", async () => {
  const world = new World();
  world.stuck = true;
  await world.globe(5, 0);
  const { state, reason } = await world.ended();
  assert.equal(state, PlanState.FAILED);
  assert.match(reason!, /does not come forward: it has not moved for 15 s/);
  const broken = new World();
  broken.broken = "the wheel is gone";
  await broken.globe(5, 0);
  assert.match((await broken.ended()).reason!, /the wheel is gone/);
  assert.equal(broken.stops, 1);
});

Deno.test("MoveOnMap drives to a pose of the map, around a box", async () => {
  const world = new World();
  const request = create(MoveOnMapRequestSchema, {
    ...{ componentName: "rover", slamServiceName: "map" },
    destination: { x: 4_000, y: 0, oZ: 1, theta: 90 },
    obstacles: [{
      center: { x: 2_000, y: 0, oZ: 1, theta: 45 },
      geometryType: { case: "box", value: { dimsMm: { x: 1_000, y: 1_000, z: 1_000 } } },
      label: "crate",
    }],
  });
  await world.motion.moveOnMap(request, testCall());
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  assert.ok(distance(world, { x: 4, y: 0 }) < 0.15);
  assert.ok(Math.abs(((world.heading % 360) + 360) % 360 - 270) <= 4, "theta is counterclockwise");
  const inside = world.trace.filter(({ x, y }) => Math.abs(x - 2) + Math.abs(y) < 0.7);
  assert.deepEqual(inside, []);
});

const DETECTED = {
  motionConfiguration: {
    obstacleDetectors: [{ visionService: "eyes", camera: "cam" }],
    obstaclePollingFrequencyHz: 5,
    ...{ linearMPerSec: 0.5, angularDegsPerSec: 90 },
  },
};

Deno.test("MoveOnGlobe drives around what is seen on the way, and stops when nothing is seen any more", async () => {
  const world = new World();
  world.balls = [{ x: 0, y: 4, r: 0.5 }, { x: 1.2, y: 4.5, r: 0.3 }];
  const { executionId } = await world.globe(8, 0, DETECTED);
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  assert.ok(distance(world, { x: 0, y: 8 }) < 0.15);
  for (const ball of world.balls) {
    // The base is 0.4 m wide: a disc of 0.28.
    const nearest = Math.min(...world.trace.map((at) => distance(at, ball))) - ball.r;
    assert.ok(nearest > 0.2, `${nearest} m from a ball`);
  }
  const { replanHistory } = world.plan(executionId);
  assert.ok(replanHistory.length > 0);
  assert.match(replanHistory[0]!.status!.reason!, /seen in the way/);

  world.onLook = () => {
    if (world.y < 7.5) world.blind = "the lens is covered";
  };
  await world.globe(0, 0, DETECTED);
  const { state, reason } = await world.ended();
  assert.equal(state, PlanState.FAILED);
  assert.match(reason!, /not seen any more: the lens is covered/);
  assert.ok(world.y > 6, `it has driven on blind to ${world.y}`);
});

Deno.test("a base stops when a look takes long, and when it is told to meanwhile", async () => {
  const world = new World();
  world.onLook = () => world.isSlow = world.y > 1;
  await world.globe(20, 0, DETECTED);
  const { state, reason } = await world.ended();
  assert.equal(state, PlanState.FAILED);
  assert.match(reason!, /a look takes longer than 3 s/);
  assert.ok(world.y < 5, `it has driven on blind to ${world.y}`);
  let looks = 0;
  world.onLook = () => world.isSlow = ++looks > 1;
  await world.globe(40, 0, DETECTED);
  await world.motion.stopPlan({ componentName: "rover" });
  assert.equal((await world.ended()).state, PlanState.STOPPED);
});

Deno.test("a base stops when what knows its place answers no more, and when it is told to meanwhile", async () => {
  const world = new World();
  const goSilent = () => waitFor(() => world.isSilent = world.isDriving, { deadlineMs: 60_000 });
  await world.globe(200, 0);
  await goSilent();
  const { state, reason } = await world.ended();
  assert.equal(state, PlanState.FAILED);
  assert.match(reason!, /gps has not answered for 3 s; nothing moves/);
  assert.equal(world.isDriving, false);
  world.isSilent = false;
  await world.globe(400, 0);
  await goSilent();
  await world.motion.stopPlan({ componentName: "rover" });
  assert.equal((await world.ended()).state, PlanState.STOPPED);
  assert.equal(world.isDriving, false);
});

Deno.test("a base with something right before it turns and drives around it", async () => {
  const world = new World();
  world.balls = [{ x: 0, y: 0.6, r: 0.4 }];
  await world.globe(4, 0, DETECTED);
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  const nearest = Math.min(...world.trace.map((at) => distance(at, world.balls[0]!)));
  assert.ok(nearest > 0.45, `${nearest} m from the middle of the ball`);
});

Deno.test("MoveOnMap drives around a mesh as around the box of it", async () => {
  const world = new World();
  const corners = "vertex -0.5 -0.5 0\nvertex 0.5 0.5 0\nvertex 0 0 1";
  const mesh = new TextEncoder().encode(`solid crate\n${corners}\n`);
  await world.motion.moveOnMap(
    create(MoveOnMapRequestSchema, {
      ...{ componentName: "rover", slamServiceName: "map", destination: { x: 4_000, y: 0 } },
      obstacles: [{
        ...{ center: { x: 2_000, y: 0, oZ: 1, theta: 45 }, label: "crate" },
        geometryType: { case: "mesh", value: { contentType: "stl", mesh } },
      }],
    }),
    testCall(),
  );
  assert.equal((await world.ended()).state, PlanState.SUCCEEDED);
  const inside = world.trace.filter(({ x, y }) => Math.abs(x - 2) + Math.abs(y) < 0.7);
  assert.deepEqual(inside, []);
});

Deno.test("what is not done, and what is wrong, is said before the base moves", async () => {
  const world = new World();
  const refused = async (
    more: MessageInitShape<typeof MoveOnGlobeRequestSchema>,
    reason: RegExp,
  ) => await assert.rejects(async () => await world.globe(5, 0, more), reason);
  await refused({ componentName: "none" }, /none is no base/);
  await refused({ movementSensorName: "none" }, /none is no movement_sensor/);
  await refused({ destination: { latitude: NaN, longitude: 1 } }, /latitude is NaN/);
  await refused({ motionConfiguration: { linearMPerSec: -1 } }, /linear_m_per_sec: found -1/);
  const detected = (visionService: string) => ({
    motionConfiguration: { obstacleDetectors: [{ visionService, camera: "cam" }] },
  });
  await refused(detected("none"), /none is no vision/);
  world.balls = [{ x: 0, y: 1, r: 0.1 }];
  world.cameraHasFrame = false;
  await refused(detected("eyes"), /failed_precondition.*cam has no frame/);
  world.blind = "the lens is covered";
  await refused(detected("eyes"), /the lens is covered/);
  const sphere = { geometryType: { case: "sphere" as const, value: { radiusMm: 500 } } };
  await refused({ obstacles: [{ location: place(5, 0), geometries: [sphere] }] }, /inside an obst/);
  await refused(
    {
      obstacles: [{ location: place(3, 0), geometries: Array.from({ length: 51 }, () => sphere) }],
    },
    /51 obstacles; at most 50/,
  );
  await refused(
    { obstacles: [{ location: place(3, 0), geometries: [{ label: "m" }] }] },
    /m is noth/,
  );
  assert.deepEqual(world.trace, []);
});
