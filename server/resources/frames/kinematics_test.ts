import { create, type JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import {
  CapsuleSchema,
  GetKinematicsResponseSchema,
  KinematicsFileFormat,
  type Mesh,
  MeshSchema,
  type RectangularPrism,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { farthest, solutions, turnBetween } from "./inverse_kinematics.ts";
import { meshBox } from "./mesh.ts";
import {
  chainOfJson,
  chainOfUrdf,
  type KinematicChain,
  kinematicChain,
} from "./kinematic_chain.ts";
import { IDENTITY, type Pose, toPoseMessage } from "./pose.ts";
import { Slices } from "./slices.ts";

const HALF = Math.PI / 2;
/** As the maker of the arm publishes it; millimetres and radians. */
const UR5E = {
  name: "UR5e",
  kinematic_param_type: "DH",
  dhParams: ([
    ["base", "world", 0, 162.5, HALF],
    ["shoulder", "base", -425, 0, 0],
    ["elbow", "shoulder", -392.2, 0, 0],
    ["wrist_1", "elbow", 0, 133.3, HALF],
    ["wrist_2", "wrist_1", 0, 99.7, -HALF],
    ["ee", "wrist_2", 0, 99.6, 0],
  ] as const).map(([id, parent, a, d, alpha]) => ({
    id,
    parent,
    a,
    d,
    alpha,
    min: -360,
    max: 360,
  })),
};

const SVA = {
  name: "elbow",
  kinematic_param_type: "SVA",
  links: [
    { id: "base", parent: "world", translation: { x: 0, y: 0, z: 100 } },
    {
      ...{ id: "upper", parent: "lift", translation: { X: 200, y: 0, z: 0 } },
      geometry: { r: 20, l: 240, translation: { x: 100, y: 0, z: 0 } },
    },
    {
      ...{ id: "fore", parent: "slide", translation: { x: 150, y: 0, z: 0 } },
      orientation: { type: "ov_degrees", value: { x: 1, y: 0, z: 0, th: 0 } },
    },
  ],
  joints: [
    {
      id: "slide",
      type: "prismatic",
      parent: "upper",
      axis: { x: 2, y: 0, z: 0 },
      min: 0,
      max: 50,
    },
    { id: "lift", type: "revolute", parent: "base", axis: { x: 0, y: -1, z: 0 }, min: 0, max: 90 },
  ],
};

const URDF = `<?xml version="1.0"?>
<!-- the same arm -->
<robot name="elbow">
  <link name="base"/>
  <joint name="lift" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.1"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="1.5707963267948966" effort="1" velocity="1"/>
  </joint>
  <link name="upper"><collision>
    <origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/>
    <geometry><cylinder radius="0.02" length="0.2"/></geometry>
  </collision></link>
  <joint name="slide" type="prismatic">
    <parent link="upper"/><child link="fore"/>
    <origin xyz="0.2 0 0"/><axis xyz="1 0 0"/><limit lower="0" upper="0.05"/>
  </joint>
  <link name="fore"/>
  <joint name="mount" type="fixed">
    <parent link="fore"/><child link="tip"/>
    <origin xyz="0.15 0 0" rpy="0 1.5707963267948966 0"/>
  </joint>
  <joint name="finger" type="continuous"><parent link="fore"/><child link="a finger"/></joint>
  <link name="a finger"/>
  <link name="tip"/>
</robot>`;

function assertNear(found: Pose, wanted: Partial<ReturnType<typeof toPoseMessage>>): void {
  const numbers = toPoseMessage(found);
  for (const [name, value] of Object.entries(wanted)) {
    const off = Math.abs(numbers[name as keyof typeof numbers] - value);
    assert.ok(off < 1e-3, `${name}: ${JSON.stringify(numbers)}, wanted ${JSON.stringify(wanted)}`);
  }
}

Deno.test("chainOfJson() reads Denavit-Hartenberg parameters as the family's arms have them", () => {
  const chain = chainOfJson(UR5E)!;
  assert.deepEqual(chain.joints.map(({ min, max }) => [min, max]), Array(6).fill([-360, 360]));
  // Stretched out: the tool is beyond the links, and beneath by two wrists' offsets.
  assertNear(chain.endAt([0, 0, 0, 0, 0, 0]), { x: -817.2, y: -232.9, z: 62.8 });
  assertNear(chain.endAt([0, -90, 0, -90, 0, 0]), { x: 0, y: -232.9, z: 1079.4 });
  assert.throws(() => chain.endAt([1, 2]), /2 positions, and its kinematics have 6 joints/);
});

Deno.test("chainOfJson() and chainOfUrdf() know the same arm, its limits and shapes", async () => {
  for (const chain of [chainOfJson(SVA)!, await chainOfUrdf(URDF)]) {
    // From the base on, whatever the order of the file; the finger does not move the end.
    assert.deepEqual(chain.joints.map(({ id }) => id), ["lift", "slide"]);
    assert.deepEqual(chain.joints.map(({ min, max }) => [min, Math.round(max * 1e6) / 1e6]), [
      [0, 90],
      [0, 50],
    ]);
    assertNear(chain.endAt([0, 0]), { x: 350, y: 0, z: 100, oX: 1, oY: 0, oZ: 0 });
    assertNear(chain.endAt([90, 30]), { x: 0, y: 0, z: 480, oX: 0, oY: 0, oZ: 1 });
    const [shape] = chain.shapesAt([90, 0]);
    assert.deepEqual([shape?.piece, shape?.shape.geometryType.case], ["upper", "capsule"]);
    assert.deepEqual(
      shape!.shape.geometryType.value,
      create(CapsuleSchema, { radiusMm: 20, lengthMm: 240 }),
    );
    assertNear(shape!.pose, { x: 0, y: 0, z: 100 });
    assert.equal(shape!.shape.center!.x, 100);
  }
});

Deno.test("what are no kinematics say so, and hang nobody up", async () => {
  assert.equal(chainOfJson([1]), undefined);
  assert.equal(chainOfJson({ kinematic_param_type: "DH" }), undefined);
  await assert.rejects(chainOfUrdf("<robot"), /Missing|Expected|Unclosed|Invalid/i);
  await assert.rejects(chainOfUrdf("<html/>"), /first element is not robot/);
  await assert.rejects(
    chainOfUrdf('<robot><joint name="j" type="floating"/></robot>'),
    /joint j is floating/,
  );
  await assert.rejects(
    chainOfUrdf('<robot><joint type="fixed"><origin xyz="a b"/></joint></robot>'),
  );
  const circle = { links: [{ id: "a", parent: "b" }, { id: "b", parent: "a" }], joints: [] };
  assert.deepEqual(chainOfJson(circle)!.endAt([]), IDENTITY);
  const links = Array.from({ length: 1_001 }, (_, at) => ({ id: `${at}`, parent: `${at - 1}` }));
  const tooMany = /1001 joints and links; at most 1000/;
  assert.throws(() => chainOfJson({ links, joints: [] }), tooMany);
  await assert.rejects(chainOfUrdf(`<robot>${"<link/>".repeat(1_001)}</robot>`), tooMany);
});

Deno.test("kinematics of a stranger are not read where they are large", async () => {
  for (const mark of ["<a/>", "&lt;", 'a="" ']) {
    const text = mark === 'a="" '
      ? `<robot ${mark.repeat(100_001)}/>`
      : "<robot>" + mark.repeat(100_001);
    await assert.rejects(chainOfUrdf(text), /more than 100000 elements and attributes/);
  }
  await assert.rejects(chainOfUrdf(" ".repeat(1_000_001)), /more than 1000000 characters/);
  // Elements within elements, as deep as fits.
  await assert.rejects(chainOfUrdf(`<robot>${"<a>".repeat(99_000)}`), /nested too deep/);
  const read: number[] = [];
  const shapes = {
    get geometry() {
      read.push(1);
      return { type: "sphere", r: 1 };
    },
  };
  const links = new Array(1_001).fill(shapes);
  assert.throws(() => chainOfJson({ links, joints: [] } as JsonObject), /1001 joints and links/);
  assert.throws(() => chainOfJson({ dhParams: links } as JsonObject), /2002 joints and links/);
  assert.deepEqual(read, []);
  const kinematicsData = new Uint8Array(1_000_001);
  for (const format of [KinematicsFileFormat.SVA, KinematicsFileFormat.URDF]) {
    const answer = create(GetKinematicsResponseSchema, { format, kinematicsData });
    await assert.rejects(kinematicChain(answer), /more than 1000000 bytes/);
  }
});

/** The same numbers each time. */
function numbers(seed: number): () => number {
  return () => (seed = seed * 16807 % 2147483647) / 2147483647;
}

async function reach(chain: KinematicChain, pose: Pose, from: readonly number[], most = 1) {
  return await solutions(chain, { pose, from }, {
    ...{ most, tries: 60, random: numbers(7), slices: new Slices(systemClock, 60_000) },
    signal: new AbortController().signal,
  });
}

Deno.test("solutions() finds joints for every pose that six joints can take", async () => {
  const chain = chainOfJson(UR5E)!;
  const random = numbers(42);
  for (let round = 0; round < 40; round++) {
    const wanted = chain.endAt(chain.joints.map(() => random() * 360 - 180));
    const [found] = await reach(chain, wanted, [0, -90, 90, 0, 45, 0]);
    assert.ok(found, `round ${round}`);
    const end = chain.endAt(found);
    const { x, y, z } = wanted.point;
    assert.ok(Math.hypot(end.point.x - x, end.point.y - y, end.point.z - z) <= 0.05);
    assert.ok(turnBetween(end.rotation, wanted.rotation).angle <= 0.001);
    assert.ok(found.every((angle) => Math.abs(angle) <= 360));
  }
});

Deno.test("solutions() gives different ones, the nearest first, and none out of reach or limits", async () => {
  const chain = chainOfJson(UR5E)!;
  const from = [10, -80, 70, 20, 60, 30];
  const several = await reach(chain, chain.endAt(from), from, 4);
  assert.equal(several.length, 4);
  assert.ok(farthest(several[0]!, from) < 0.1);
  assert.ok(farthest(several[0]!, several[1]!) > 1);
  const far = { ...IDENTITY, point: { x: 2_000, y: 0, z: 0 } };
  assert.deepEqual(await reach(chain, far, from), []);
  const small = chainOfJson(SVA)!;
  const below = { ...small.endAt([0, 0]), point: { x: 300, y: 0, z: -50 } };
  assert.deepEqual(await reach(small, below, [0, 0]), [], "the lift turns up only");
});

Deno.test("chainOfUrdf() takes the box around a mesh, scaled and placed, where its file is known", async () => {
  const file = (mesh: string) =>
    `<robot><link name="hand"><collision><origin xyz="0 0 1"/><geometry>${mesh}</geometry>` +
    "</collision></link></robot>";
  const mesh = '<mesh filename="package://hand.stl" scale="2 1 1"/>';
  const corners = "vertex 0 0 0\nvertex 0.1 0.2 0\nvertex 0 0.2 0.4";
  const stl = new TextEncoder().encode(`solid hand\n${corners}\n`);
  const meshes = { "package://hand.stl": create(MeshSchema, { contentType: "stl", mesh: stl }) };
  const shape = async (given?: typeof meshes) =>
    (await chainOfUrdf(file(mesh), given)).shapesAt([])[0]!.shape;
  const { center, geometryType, label } = await shape(meshes);
  assert.equal(label, "hand");
  assert.deepEqual([center?.x, center?.y, center?.z].map((mm) => Math.round(mm!)), [
    100,
    100,
    1200,
  ]);
  assert.equal(geometryType.case, "box");
  const { x = 0, y = 0, z = 0 } = (geometryType.value as RectangularPrism).dimsMm ?? {};
  assert.deepEqual([x, y, z].map(Math.round), [200, 200, 400]);
  assert.equal((await shape()).geometryType.case, "mesh");
  const broken = { "package://hand.stl": create(MeshSchema, { contentType: "stl" }) };
  await assert.rejects(shape(broken), /without its file/);
});

Deno.test("chainOfJson() keeps the file of a mesh", () => {
  const stl = btoa("solid hand\nvertex 0 0 0\nvertex 1 1 1\nvertex 0 1 1\n");
  const geometry = { type: "mesh", mesh_content_type: "stl", mesh_data: stl };
  const chain = chainOfJson({
    kinematic_param_type: "SVA",
    links: [{ id: "hand", parent: "world", translation: { x: 0, y: 0, z: 0 }, geometry }],
    joints: [],
  });
  const { geometryType } = chain!.shapesAt([])[0]!.shape;
  assert.equal(geometryType.case, "mesh");
  assert.deepEqual(meshBox(geometryType.value as Mesh).half, { x: 500, y: 500, z: 500 });
});
