import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { ResourceConfig } from "../../../shared/config/resources.ts";
import {
  type Geometry,
  GeometrySchema,
  MeshSchema,
  WorldStateSchema,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type {
  ArmService,
  JointPositions,
} from "../../../shared/gen/viam/component/arm/v1/arm_pb.ts";
import {
  ConstraintsSchema,
  GetPoseRequestSchema,
  type MoveRequest,
  MoveRequestSchema,
} from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import { GetPoseRequestSchema as MachinePoseSchema } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FrameSystem } from "../../resources/frames/frame_system.ts";
import { farthest } from "../../resources/frames/inverse_kinematics.ts";
import { ofPoseMessage, type Pose, toPoseMessage } from "../../resources/frames/pose.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { builtinModels } from "../builtin.ts";
import { knownKinematics } from "../fake/arm_kinematics.ts";
import { MotionDriver } from "../motion/motion_service.ts";
import { testCall, testEnvironment } from "../testing.ts";
import { placed, solidOf, touch } from "./solids.ts";

type Shape = MessageInitShape<typeof GeometrySchema>["geometryType"];
const pose = (x: number, y: number, z: number, more = {}) => ({
  ...{ x, y, z, oX: 0, oY: 0, oZ: 1, theta: 0 },
  ...more,
});
const geometry = (geometryType: Shape, at = pose(0, 0, 0), label = "thing"): Geometry =>
  create(GeometrySchema, { geometryType, center: at, label } as MessageInitShape<
    typeof GeometrySchema
  >);
const sphere = (radiusMm: number): Shape => ({ case: "sphere", value: { radiusMm } });
const capsule = (radiusMm: number, lengthMm: number): Shape => ({
  case: "capsule",
  value: { radiusMm, lengthMm },
});
const box = (x: number, y: number, z: number): Shape => ({
  case: "box",
  value: { dimsMm: { x, y, z } },
});

Deno.test("touch() knows spheres, capsules and turned boxes, either way around", () => {
  const is = (one: Geometry, other: Geometry, wanted: boolean) => {
    const [a, b] = [solidOf(one), solidOf(other)];
    assert.equal(touch(a, b), wanted, `${one.label} and ${other.label}`);
    assert.equal(touch(b, a), wanted);
    // The same from elsewhere.
    const move: Pose = ofPoseMessage(pose(30, -70, 500, { oX: 0.6, oZ: 0.8, theta: 33 }));
    assert.equal(touch(placed(a, move), placed(b, move)), wanted);
  };
  const ball = geometry(sphere(10));
  is(ball, geometry(sphere(10), pose(19, 0, 0)), true);
  is(ball, geometry(sphere(10), pose(21, 0, 0)), false);
  const lying = { oX: 1, oZ: 0 };
  // A capsule of 100 mm along x, its ends included.
  is(ball, geometry(capsule(5, 100), pose(59, 0, 0, lying)), true);
  is(ball, geometry(capsule(5, 100), pose(61, 0, 0, lying)), false);
  is(geometry(capsule(5, 100)), geometry(capsule(5, 100), pose(0, 9, 0, lying)), true);
  is(geometry(capsule(5, 100)), geometry(capsule(5, 100), pose(0, 11, 0, lying)), false);
  is(geometry(capsule(5, 100)), geometry(capsule(5, 100), pose(11, 0, 0)), false);
  const cube = geometry(box(20, 20, 20));
  is(ball, geometry(box(20, 20, 20), pose(19, 0, 0)), true);
  is(ball, geometry(box(20, 20, 20), pose(18, 18, 0)), false); // past its edge
  is(cube, geometry(box(20, 20, 20), pose(21, 0, 0)), false);
  is(cube, geometry(box(20, 20, 20), pose(21, 0, 0, { theta: 45 })), true);
  is(cube, geometry(box(2, 2, 2), pose(0, 0, 0)), true); // one inside of the other
  is(cube, geometry(capsule(2, 200), pose(13, 13, 0, { theta: 45 })), false);
  is(cube, geometry(capsule(2, 200), pose(18, 0, 18, { oX: 1, oZ: -1 })), false);
  is(cube, geometry(capsule(2, 200), pose(10, 0, 10, { oX: 1, oZ: -1 })), true);
  assert.throws(() => solidOf(geometry(sphere(-1))), /thing has a size of -1/);
  assert.throws(
    () => solidOf(geometry({ case: "pointcloud", value: {} } as Shape)),
    /unimplemented.*thing is pointcloud/,
  );
  const file = (contentType: string, text: string): Shape => ({
    case: "mesh",
    value: create(MeshSchema, { contentType, mesh: new TextEncoder().encode(text) }),
  });
  const corners = "vertex 0 0 0\nvertex 0.02 0.02 0\nvertex 0 0.02 0.02";
  // From 0 to 20 mm along each axis.
  const mesh = geometry(file("stl", `solid cube\n${corners}`));
  is(ball, mesh, true);
  is(geometry(sphere(10), pose(31, 10, 10)), mesh, false);
  is(geometry(sphere(10), pose(29, 10, 10)), mesh, true);
  assert.throws(
    () => solidOf(geometry(file("obj", "v"))),
    /unimplemented.*thing is a mesh that is of/,
  );
});

/** A UR5e with links of capsules, where nothing else is said. */
function armConfig(kinematics = withShapes()) {
  return {
    ...{ name: "arm", api: "rdk:component:arm", model: "rdk:builtin:fake" },
    frame: { parent: "world", translation: { x: 100, y: 0, z: 0 } },
    attributes: { kinematics },
  };
}

function withShapes() {
  const file = knownKinematics("ur5e") as { dhParams: Record<string, unknown>[] };
  const link = (at: number, length: number, offset: number) =>
    file.dhParams[at]!["geometry"] = {
      ...{ type: "capsule", r: 45, l: length },
      translation: { x: -length / 2 + 45, y: 0, z: offset },
      orientation: { type: "ov_degrees", value: { x: 1, y: 0, z: 0, th: 0 } },
    };
  link(1, 515, 130);
  link(2, 480, 10);
  return file;
}

interface Extra {
  readonly components?: (ResourceConfig & { attributes?: object })[];
  /** Default: of {@link withShapes}. */
  readonly kinematics?: ReturnType<typeof withShapes>;
  /** In place of the fake. */
  readonly arm?: Resource;
}

async function setUp({ components = [], arm, kinematics }: Extra = {}) {
  const registry = builtinModels(testEnvironment());
  if (arm) {
    registry.register({
      ...{ api: "rdk:component:arm", model: "t:test:arm", attributes: anyAttributes },
      construct: () => arm,
    });
  }
  const clock = systemClock;
  const resources = new ResourceManager({ registry, clock, log: memoryLogger() });
  const all = [{ ...armConfig(kinematics), ...(arm && { model: "t:test:arm" }) }, ...components];
  await resources.apply(
    all.map(({ name, api, model, attributes }) => ({
      ...{ name, api, model, dependsOn: [] },
      attributes: (attributes ?? {}) as Record<string, never>,
    })),
    "r1",
  );
  const frames = new FrameSystem({ resources: resources.index, clock, log: memoryLogger() });
  frames.setComponents(all as ResourceConfig[]);
  const key = "rdk:component:arm/arm";
  const driver = resources.index.peek(key)!.instance as Driver<typeof ArmService>;
  const motion = new MotionDriver({
    ...{ clock, log: memoryLogger(), frames: () => frames, random: numbers(11) },
    dependencies: new Map([[key, driver as Resource]]),
  });
  /** The positions that the arm was sent through. */
  const ways: number[][][] = [];
  const through = driver.moveThroughJointPositions!.bind(driver);
  driver.moveThroughJointPositions = (request, call) => {
    ways.push(request.positions.map(({ values }) => values));
    return through(request, call);
  };
  const move = (fields: MessageInitShape<typeof MoveRequestSchema>, signal?: AbortSignal) => {
    const usual = { componentName: "arm", extra: { timeout: 60 } };
    const request = create(MoveRequestSchema, { ...usual, ...fields } as typeof fields);
    return motion.move(request, testCall(signal));
  };
  const where = async (componentName: string) => {
    const request = create(MachinePoseSchema, { componentName });
    return (await frames.pose(request, testCall().signal)).pose.pose;
  };
  const joints = async () => await currentJoints(driver);
  const send = (values: number[]) =>
    void driver.moveToJointPositions!({ positions: { values } } as never, testCall());
  return { driver, motion, frames, ways, move, where, joints, send };
}

/** The same numbers each time. */
function numbers(seed: number): () => number {
  return () => (seed = seed * 16807 % 2147483647) / 2147483647;
}

async function currentJoints(driver: Driver<typeof ArmService>): Promise<number[]> {
  const { positions } = await driver.getJointPositions!({} as never, testCall());
  return (positions as JointPositions).values;
}

const at = (referenceFrame: string, wanted: object) => ({
  destination: { referenceFrame, pose: pose(0, 0, 0, wanted) },
});

const DOWN = { oX: 0, oY: 0, oZ: -1, theta: 0 };

function assertNear(found: object, wanted: object, tolerance = 0.5): void {
  const numbers = found as Record<string, number>;
  for (const [name, value] of Object.entries(wanted)) {
    assert.ok(Math.abs(numbers[name]! - value) < tolerance, `${name}: ${numbers[name]}, ${value}`);
  }
}

async function failure(call: Promise<unknown>): Promise<string> {
  return await call.then(() => "no failure", (error) => ConnectError.from(error).message);
}

Deno.test("Move brings an arm, and what stands on its end, to a pose in any frame", async () => {
  const { move, where, motion } = await setUp({
    components: [
      {
        ...{ name: "gripper", api: "rdk:component:gripper", model: "rdk:builtin:fake" },
        frame: { parent: "arm", translation: { x: 0, y: 0, z: 120 } },
      },
      {
        ...{ name: "table", api: "rdk:component:generic", model: "rdk:builtin:fake" },
        frame: { parent: "world", translation: { x: 400, y: 300, z: 100 } },
      },
    ],
  });
  assert.deepEqual(await move(at("world", { x: 500, y: 200, z: 300, ...DOWN })), { success: true });
  assertNear(await where("arm"), { x: 500, y: 200, z: 300, oZ: -1 });
  await move({ componentName: "gripper", ...at("table", { x: 20, y: -50, z: 60, ...DOWN }) });
  assertNear(await where("gripper"), { x: 420, y: 250, z: 160, oZ: -1 });
  // Where it is, but 30 mm back: its own frame looks down.
  await move({ componentName: "gripper", ...at("gripper", { z: -30 }) });
  assertNear(await where("gripper"), { x: 420, y: 250, z: 190, oZ: -1 });
  const { pose: found } = await motion.getPose(
    create(GetPoseRequestSchema, { componentName: "gripper", destinationFrame: "table" }),
    testCall(),
  );
  assertNear(found.pose, { x: 20, y: -50, z: 90 });
});

const BEGIN = { x: 550, y: 350, z: 300, ...DOWN };
const END = { x: 550, y: -350, z: 300, ...DOWN };
const WALL = geometry(box(700, 60, 1_500), pose(700, 0, 600), "wall");
/** On either side of the wall; the base turns through it. */
const LEFT = [120, -60, 60, -90, -90, 0];
const RIGHT = [240, -60, 60, -90, -90, 0];

Deno.test("Move leads around an obstacle: nothing touches anywhere on the way", async () => {
  const { move, ways, frames, send, joints } = await setUp();
  const { parts } = await frames.snapshot([], testCall().signal);
  const { chain } = parts.find(({ name }) => name === "arm")!;
  const { rotation, ...end } = chain!.endAt(RIGHT);
  const there = {
    destination: { referenceFrame: "arm_origin", pose: toPoseMessage({ rotation, ...end }) },
  };
  // Looked at more closely than the plan was, and by the links themselves.
  const wall = solidOf(WALL);
  const touches = (way: number[][]) =>
    way.slice(1).some((to, leg) => {
      const pieces = Math.ceil(farthest(way[leg]!, to) / 0.5);
      return Array.from({ length: pieces + 1 }, (_, piece) => piece / Math.max(1, pieces))
        .some((share) => {
          const between = way[leg]!.map((value, joint) => value + (to[joint]! - value) * share);
          return chain!.shapesAt(between).some(({ shape, pose: base }) =>
            touch(placed(placed(solidOf(shape), base), ofPoseMessage(pose(100, 0, 0))), wall)
          );
        });
    });
  const way = async (more: Partial<MoveRequest> = {}) => {
    send(LEFT);
    const request = create(MoveRequestSchema, there);
    assert.deepEqual(
      await move({ ...request, componentName: "arm", extra: { timeout: 60 }, ...more }),
      { success: true },
    );
    const { point } = chain!.endAt(await joints());
    assertNear(point, end.point);
    return [LEFT, ...ways.at(-1)!];
  };
  assert.ok(!touches([LEFT, LEFT]) && !touches([RIGHT, RIGHT]));
  assert.ok(touches([LEFT, RIGHT]), "the straight way leads through the wall");
  const worldState = create(WorldStateSchema, {
    obstacles: [{ referenceFrame: "world", geometries: [WALL] }],
  });
  for (let round = 0; round < 3; round++) {
    const around = await way({ worldState });
    assert.ok(!touches(around), JSON.stringify(around));
  }
  // Allowed to touch it, the arm goes straight.
  const allows = [{ frame1: "arm", frame2: "wall" }];
  const constraints = create(ConstraintsSchema, { collisionSpecification: [{ allows }] });
  assert.equal((await way({ worldState, constraints })).length, 2);
});

Deno.test("what is carried and what is configured is not touched either", async () => {
  const { move } = await setUp({
    components: [
      {
        ...{ name: "pillar", api: "rdk:component:generic", model: "rdk:builtin:fake" },
        frame: {
          ...{ parent: "world", translation: { x: 700, y: 0, z: 200 } },
          geometry: { type: "box", x: 50, y: 50, z: 400 },
        },
      },
    ],
  });
  const beside = { x: 600, y: 0, z: 300, ...DOWN };
  assert.deepEqual(await move(at("world", beside)), { success: true });
  const plate = {
    referenceFrame: "plate",
    poseInObserverFrame: { referenceFrame: "arm", pose: pose(0, 0, 20) },
    physicalObject: geometry(box(300, 300, 10), pose(0, 0, 0), "plate"),
  };
  await move(at("world", { x: 400, y: 300, z: 300, ...DOWN }));
  const refused = await failure(
    move({ ...at("world", beside), worldState: { transforms: [plate] } }),
  );
  assert.match(refused, /failed_precondition.*at the destination plate and pillar would touch/);
});

Deno.test("a linear constraint keeps the end on the line, or says where it can't", async () => {
  const { move, ways, joints, frames } = await setUp();
  await move(at("world", BEGIN));
  const from = await joints();
  const constraints = { linearConstraint: [{ lineToleranceMm: 2, orientationToleranceDegs: 3 }] };
  const end = { ...BEGIN, x: 350, y: 450, z: 400 };
  await move({ ...at("world", end), constraints });
  const { parts } = await frames.snapshot([], testCall().signal);
  const { chain } = parts.find(({ name }) => name === "arm")!;
  const way = [from, ...ways.at(-1)!].map((positions) => chain!.endAt(positions));
  assert.ok(way.length > 20);
  for (const { point } of way) {
    const share = (450 - point.x) / 200; // seen from the arm, which stands at 100
    const off = Math.hypot(point.y - (350 + 100 * share), point.z - (300 + 100 * share));
    assert.ok(off < 2, `${off} mm off the line`);
  }
  const obstacles = [{ referenceFrame: "world", geometries: [WALL] }];
  await move(at("world", BEGIN));
  assert.match(
    await failure(move({ ...at("world", END), constraints, worldState: { obstacles } })),
    /on a straight line arm:\w+ and wall would touch at \d+ % of the way/,
  );
  await move({
    ...at("world", { ...BEGIN, x: 450 }),
    constraints: { orientationConstraint: [{ orientationToleranceDegs: 5 }] },
  });
  for (const positions of ways.at(-1)!) assert.ok(chain!.endAt(positions).rotation);
  const ignoring = { orientationConstraint: [{ ignoreTheta: true }] };
  assert.match(
    await failure(move({ ...at("world", BEGIN), constraints: ignoring })),
    /unimplemented.*ignore_theta/,
  );
});

Deno.test("what can't be planned says why, and moves nothing", async () => {
  const { move, joints, ways } = await setUp({
    components: [{
      ...{ name: "rail", api: "rdk:component:gantry", model: "rdk:builtin:fake", frame: {} },
    }],
  });
  const before = await joints();
  const near = at("world", { x: 400, z: 300, ...DOWN });
  const refused = async (fields: MessageInitShape<typeof MoveRequestSchema>, reason: RegExp) =>
    assert.match(await failure(move(fields)), reason);
  await refused(at("world", { x: 3_000 }), /failed_precondition.*out of reach/);
  await refused(at("moon", {}), /not_found.*no frame moon; known are world, arm, rail/);
  await refused(at("world", { x: NaN }), /invalid_argument.*numbers that are none/);
  await refused({}, /destination: it has no pose/);
  await refused({ ...near, componentName: "" }, /component_name is empty/);
  await refused({ ...near, componentName: "none" }, /no frame none/);
  await refused({ ...near, componentName: "rail" }, /unimplemented.*rail, which is no arm/);
  await refused({ ...near, componentName: "world" }, /does not stand on an arm/);
  const many = (count: number) => [{
    referenceFrame: "world",
    geometries: Array.from({ length: count }, () => geometry(sphere(1), pose(9_000, 0, 0))),
  }];
  await refused({ ...near, worldState: { obstacles: many(201) } }, /201 geometries/);
  await refused({
    ...near,
    worldState: { obstacles: [{ referenceFrame: "x", geometries: [WALL] }] },
  }, /no frame x/);
  assert.deepEqual([await joints(), ways], [before, []]);
});

Deno.test("planning that takes long leaves room for other calls, ends in time, and is bounded", async () => {
  const { move } = await setUp();
  await move(at("world", BEGIN));
  // A cage of thin bars that lets nothing out; the arm has to look for long.
  const cage = [-1, 1].flatMap((side) => [
    geometry(box(10, 3_000, 3_000), pose(100 + 800 * side, 0, 0), "cage"),
    geometry(box(3_000, 10, 3_000), pose(0, 220 + 400 * side, 0), "cage"),
  ]);
  const worldState = { obstacles: [{ referenceFrame: "world", geometries: cage }] };
  const started = performance.now();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const extra = { timeout: 1.5 };
  const outside = { ...at("world", END), worldState, extra };
  const plans = Array.from({ length: 5 }, () => failure(move(outside)));
  const answers = await Promise.all(plans);
  clearInterval(timer);
  assert.equal(answers.filter((one) => /4 arms are being planned for/.test(one)).length, 1);
  assert.equal(answers.filter((one) => /failed_precondition/.test(one)).length, 4, answers.join());
  assert.ok(turns > 3, `others had ${turns} turns in ${performance.now() - started} ms`);
});

Deno.test("what reaches far is planned for no longer than the time allows", async () => {
  const { move } = await setUp();
  await move(at("world", BEGIN));
  const boom = (x: number) => ({
    referenceFrame: "boom",
    poseInObserverFrame: { referenceFrame: "arm", pose: pose(x, 0, 0) },
    physicalObject: geometry(sphere(10), pose(0, 0, 0), "boom"),
  });
  const carrying = (x: number, more = {}) =>
    failure(move({
      ...{ ...at("world", { x: 400, y: 300, z: 300, ...DOWN }), extra: { timeout: 0.3 } },
      ...{ worldState: { transforms: [boom(x)] }, ...more },
    }));
  const late = /failed_precondition.*in time/;
  for (const x of [1e12, 1e300]) assert.match(await carrying(x), late);
  assert.match(await carrying(1e12, { constraints: { linearConstraint: [{}] } }), late);
  for (const x of [NaN, Infinity]) {
    assert.match(await carrying(x), /invalid_argument.*the geometry boom is nowhere/);
  }
  const turned = geometry(box(10, 10, 10), pose(900, 0, 0, { oX: NaN }), "turned");
  const obstacles = [{ referenceFrame: "world", geometries: [turned] }];
  const nowhere = /the geometry turned is nowhere/;
  assert.match(await carrying(0, { worldState: { obstacles } }), nowhere);
});

Deno.test("an arm of very many shapes is not planned for", async () => {
  const links = Array.from({ length: 201 }, (_, at) => ({
    ...{ id: `l${at}`, parent: at === 0 ? "j" : `l${at - 1}`, translation: { x: 0, y: 0, z: 1 } },
    geometry: { type: "sphere", r: 1 },
  }));
  const joints = [
    { id: "j", parent: "world", type: "revolute", axis: { x: 0, y: 0, z: 1 }, min: -90, max: 90 },
  ];
  const kinematics = { kinematic_param_type: "SVA", links, joints };
  const { move } = await setUp({ kinematics: kinematics as never });
  const answer = await failure(move(at("world", { x: 400, y: 300, z: 300 })));
  assert.match(answer, /invalid_argument.*the arm has 201 geometries; at most 200/);
});

Deno.test("a call that is cancelled, and StopAll, stop the arm; a newer call takes over", async () => {
  let at_ = [0, -90, 90, -90, -90, 0];
  let stops = 0;
  const running: ((values: number[]) => void)[] = [];
  const kinematics = withShapes();
  const arm = {
    getKinematics: () => ({
      format: 1,
      kinematicsData: new TextEncoder().encode(JSON.stringify(kinematics)),
    }),
    getJointPositions: () => ({ positions: { values: at_ } }),
    moveThroughJointPositions: (
      { positions }: { positions: { values: number[] }[] },
      { signal }: { signal: AbortSignal },
    ) =>
      new Promise((done, failed) => {
        signal.addEventListener("abort", () => failed(signal.reason));
        running.push((values) => {
          at_ = values;
          done({ reached: positions.length });
        });
      }),
    stop: () => void stops++,
  };
  const { move, motion } = await setUp({ arm: arm as unknown as Resource });
  const near = { x: 500, y: 200, z: 300, ...DOWN };
  const caller = new AbortController();
  const cancelled = failure(move(at("world", near), caller.signal));
  await waitFor(() => running.length === 1, { deadlineMs: 60_000 });
  assert.deepEqual(motion.getStatus(), { moving: ["rdk:component:arm/arm"] });
  caller.abort(new Error("the caller left"));
  assert.match(await cancelled, /the caller left/);
  assert.equal(stops, 1);
  const first = move(at("world", near));
  await waitFor(() => running.length === 2, { deadlineMs: 60_000 });
  const second = move(at("world", { ...near, y: 100 }));
  assert.deepEqual(await first, { success: false });
  await waitFor(() => running.length === 3, { deadlineMs: 60_000 });
  await motion.stop();
  assert.deepEqual(await second, { success: false });
  assert.equal(stops, 2);
  // What is still planned does not begin to move after a stop.
  const planned = failure(move(at("world", near)));
  await motion.stop();
  assert.match(await planned, /aborted.*stopped while it was planned/);
  assert.equal(running.length, 3);
  const third = move(at("world", near));
  await waitFor(() => running.length === 4, { deadlineMs: 60_000 });
  running[3]!(at_);
  assert.deepEqual(await third, { success: true });
});
