import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { ResourceConfig } from "../../../shared/config/resources.ts";
import {
  KinematicModelSchema,
  TransformSchema,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import {
  FrameSystemConfigSchema,
  GetPoseRequestSchema,
  TransformPoseRequestSchema,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { anyAttributes } from "../graph/attributes.ts";
import type { Driver } from "../graph/driver.ts";
import { ResourceManager } from "../graph/manager.ts";
import type { Resource } from "../graph/resource.ts";
import type {
  ArmService,
  JointPositions,
} from "../../../shared/gen/viam/component/arm/v1/arm_pb.ts";
import { FrameSystem } from "./frame_system.ts";

const FAKE = "rdk:builtin:fake";

type Frame = NonNullable<ResourceConfig["frame"]>;

function component(name: string, frame: Frame | undefined, more: Partial<ResourceConfig> = {}) {
  return { name, api: "rdk:component:arm", model: FAKE, ...(frame && { frame }), ...more };
}

/** A frame system over real fakes, and over an arm `t:test:arm` that the test scripts. */
async function setUp(components: ResourceConfig[], scripted: Resource = {}) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const registry = builtinModels(testEnvironment({ clock })).register({
    api: "rdk:component:arm",
    model: "t:test:arm",
    attributes: anyAttributes,
    construct: () => scripted,
  });
  const resources = new ResourceManager({ registry, clock, log: memoryLogger() });
  await resources.apply(
    components.map(({ name, api, model, attributes }) => ({
      ...{ name, api, model, dependsOn: [] },
      attributes: (attributes ?? {}) as Record<string, never>,
    })),
    "r1",
  );
  const frames = new FrameSystem({ resources: resources.index, clock, log });
  frames.setComponents(components);
  const { signal } = new AbortController();
  const pose = async (componentName: string, destinationFrame = "") => {
    const request = create(GetPoseRequestSchema, { componentName, destinationFrame });
    return rounded((await frames.pose(request, signal)).pose.pose);
  };
  return { clock, log, resources, frames, signal, pose };
}

function rounded(numbers: object): Record<string, number> {
  return Object.fromEntries(
    Object.entries(numbers).map(([name, value]) => [name, Math.round(value * 1e6) / 1e6 + 0]),
  );
}

async function failure(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "no failure";
  } catch (error) {
    return ConnectError.from(error).message;
  }
}

const turn = (th: number) => ({ type: "ov_degrees" as const, value: { x: 0, y: 0, z: 1, th } });

Deno.test("pose() follows frames through frames, and joints as they stand", async () => {
  const { pose, resources } = await setUp([
    component("cam", { parent: "arm", translation: { z: 50 } }, { api: "rdk:component:camera" }),
    component("arm", {
      parent: "base",
      translation: { x: 200 },
      orientation: turn(90),
    }, { attributes: { degrees_of_freedom: 2 } }),
    component("base", { translation: { y: 1_000 } }, { api: "rdk:component:base" }),
  ]);
  const up = { oX: 0, oY: 0, oZ: 1 };
  assert.deepEqual(await pose("base"), { x: 0, y: 1_000, z: 0, ...up, theta: 0 });
  assert.deepEqual(await pose("arm_origin"), { x: 200, y: 1_000, z: 0, ...up, theta: 90 });
  assert.deepEqual(await pose("arm"), { x: 200, y: 1_200, z: 0, ...up, theta: 90 });
  assert.deepEqual(await pose("cam"), { x: 200, y: 1_200, z: 50, ...up, theta: 90 });
  assert.deepEqual(await pose("cam", "arm"), { x: 0, y: 0, z: 50, ...up, theta: 0 });
  assert.deepEqual(await pose("base", "arm_origin"), { x: 0, y: 200, z: 0, ...up, theta: -90 });
  const arm = resources.index.peek("rdk:component:arm/arm")!.instance as Driver<typeof ArmService>;
  const positions = { values: [90, -90] } as JointPositions;
  void arm.moveToJointPositions!({ positions } as never, { signal: AbortSignal.timeout(1_000) });
  assert.deepEqual(await pose("arm"), { x: 100, y: 1_100, z: 0, ...up, theta: 90 });
  assert.deepEqual(await pose("rdk:component:camera/cam"), {
    ...{ x: 100, y: 1_100, z: 50, ...up, theta: 90 },
  });
});

Deno.test("pose() counts a gantry's axes and every form of orientation", async () => {
  const { pose, resources } = await setUp([
    component("g", { orientation: { type: "euler_angles", value: { yaw: Math.PI / 2 } } }, {
      api: "rdk:component:gantry",
      attributes: { lengths_mm: [500, 500] },
    }),
    component("tool", {
      parent: "g",
      orientation: { type: "quaternion", value: { w: 1, z: 1 } },
    }, { api: "rdk:component:generic" }),
  ]);
  const gantry = resources.index.peek("rdk:component:gantry/g")!.instance as unknown as {
    moveToPosition(request: { positionsMm: number[] }): void;
  };
  gantry.moveToPosition({ positionsMm: [30, 7] });
  assert.deepEqual(await pose("tool"), { x: -7, y: 30, z: 0, oX: 0, oY: 0, oZ: 1, theta: 180 });
});

Deno.test("transformPose() takes frames of the caller for this call only", async () => {
  const { frames, signal, pose } = await setUp([component("arm", {})]);
  const transform = (name: string, parent: string): MessageInitShape<typeof TransformSchema> => ({
    referenceFrame: name,
    poseInObserverFrame: { referenceFrame: parent, pose: { x: 10 } },
  });
  const ask = async (...names: [string, string][]) => {
    const request = create(TransformPoseRequestSchema, {
      source: { referenceFrame: "cup", pose: { y: 3 } },
      destination: "arm",
      supplementalTransforms: names.map(([name, parent]) => transform(name, parent)),
    });
    const { pose: { referenceFrame, pose } } = await frames.transformPose(request, signal);
    return { referenceFrame, ...rounded(pose) };
  };
  assert.deepEqual(await ask(["cup", "table"], ["table", "arm"]), {
    ...{ referenceFrame: "arm", x: 20, y: 3, z: 0, oX: 0, oY: 0, oZ: 1, theta: 0 },
  });
  assert.match(await failure(() => ask(["cup", "nowhere"])), /stands in nowhere, which there is/);
  assert.match(await failure(() => ask(["cup", "arm"], ["arm", "world"])), /more than one frame/);
  assert.match(await failure(() => pose("cup")), /^\[not_found\] there is no frame cup; known are/);
});

Deno.test("config() lists parents first, with shapes and joints", async () => {
  const { frames, signal } = await setUp([
    component("grip", { parent: "arm" }, { api: "rdk:component:gripper" }),
    component("arm", { geometry: { type: "box", x: 1, y: 2, z: 3 }, translation: { x: 4 } }),
    component("loose", undefined),
  ]);
  const { frameSystemConfigs } = await frames.config([], signal);
  assert.deepEqual(
    frameSystemConfigs.map(({ frame, model, kinematics }) => [
      frame.referenceFrame,
      frame.poseInObserverFrame.referenceFrame,
      frame.poseInObserverFrame.pose.x,
      frame.physicalObject?.geometryType.case,
      frame.physicalObject?.label,
      model?.joints.length,
      kinematics?.["name"],
    ]),
    [
      ["arm", "world", 4, "box", "arm", 1, "arm"],
      ["grip", "arm", 0, undefined, undefined, 1, "grip"],
    ],
  );
});

Deno.test("setComponents() leaves out frames that do not hang together, and says so once", async () => {
  const components = [
    component("a", { parent: "b" }),
    component("b", { parent: "a" }),
    component("c", { parent: "nobody" }),
    component("d", { id: "world" }),
    component("e", {}),
  ];
  const { frames, log, pose } = await setUp(components);
  frames.setComponents(components);
  assert.deepEqual(log.entries.map(({ message }) => message), [
    "frames: there is more than one frame world; the later one is left out; " +
    "the frame a stands in b, which does not hang together with the world; it is left out; " +
    "the frame b stands in a, which does not hang together with the world; it is left out; " +
    "the frame c stands in nobody, which there is not; it is left out",
  ]);
  assert.equal((await pose("e")).x, 100);
  assert.match(await failure(() => pose("a")), /known are world, e\./);
});

Deno.test("config() says nothing of frames that stand in those who ask", async () => {
  const components = [component("cup", { parent: "b:arm" })];
  const { frames, log, signal } = await setUp(components);
  const arm = create(FrameSystemConfigSchema, {
    frame: {
      referenceFrame: "b:arm",
      poseInObserverFrame: { referenceFrame: "b_world", pose: {} },
    },
  });
  frames.setComponents(components, [{
    world: "b_world",
    frame: { parent: "world" },
    ask: (_signal, asking) =>
      asking.length > 0 ? Promise.reject(new Error("it would ask itself")) : Promise.resolve([arm]),
  }]);
  const names = async (asking: string[]) =>
    (await frames.config([], signal, asking)).frameSystemConfigs
      .map(({ frame }) => frame.referenceFrame);
  for (let n = 0; n < 2; n++) {
    assert.deepEqual(await names([]), ["b_world", "b:arm", "cup"]);
    assert.deepEqual(await names(["b"]), []);
  }
  const warnings = log.entries.filter(({ level }) => level === "warn");
  assert.equal(warnings.length, 1, log.text()); // of the time without the remote
});

Deno.test("pose() follows a model that comes as a message, with joints that follow others", async () => {
  const model = create(KinematicModelSchema, {
    links: [
      { id: "base", parent: "world", pose: { translation: { z: 10 } } },
      { id: "upper", parent: "j1", pose: { translation: { x: 100 } } },
      { id: "tip", parent: "j2", pose: { translation: { x: 100 } } },
      { id: "lamp", parent: "j2", pose: { translation: { x: 5 } } },
    ],
    joints: [
      { id: "j1", parent: "base", type: 1, axis: { z: 1 } },
      {
        id: "j2",
        parent: "upper",
        type: 1,
        axis: { z: 1 },
        mimic: { joint: "j1", multiplier: -1 },
      },
    ],
    outputFrames: ["tip"],
  });
  let values: number[] = [90];
  const { pose, frames, signal, clock } = await setUp(
    [component("arm", {}, { model: "t:test:arm" })],
    {
      getKinematics: () => ({ model }),
      getJointPositions: () =>
        values.length > 1 ? new Promise(() => {}) : { positions: { values } },
    } as Resource,
  );
  assert.deepEqual(await pose("arm"), {
    ...{ x: 100, y: 100, z: 10, oX: 0, oY: 0, oZ: 1, theta: 0 },
  });
  values = [];
  assert.equal(
    await failure(() => pose("arm")),
    "[unavailable] it is not known where rdk:component:arm/arm is: it reports 0 positions, and " +
      "its kinematics have 1 joints",
  );
  values = [1, 2];
  const late = failure(() => pose("arm"));
  await clock.advance(5_000);
  assert.match(await late, /it is not known where .*: its answer took longer than 5000 ms/);
  assert.equal((await frames.config([], signal)).frameSystemConfigs[0]!.model, model);
});
