import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { construct, testCall } from "../testing.ts";
import { type FakeArm, fakeArmModel as model } from "./arm.ts";
import { planarEnd, reachPlanar } from "./planar_arm.ts";

const fakeArmModel = model({ clock: systemClock }) as Model<unknown>;

const arm = (degrees_of_freedom?: number) =>
  construct<FakeArm, unknown>(
    fakeArmModel,
    degrees_of_freedom === undefined ? {} : { degrees_of_freedom },
  );

Deno.test("a fake arm has the joints of its arm-model, unless it is told how many", async () => {
  const joints = async (attributes: JsonObject) =>
    (await construct<FakeArm, unknown>(fakeArmModel, attributes)).getJointPositions().positions
      .values.length;
  assert.equal(await joints({ "arm-model": "ur5e" }), 6);
  assert.equal(await joints({ "arm-model": "xArm7" }), 7);
  assert.equal(await joints({ "arm-model": "xArm7", degrees_of_freedom: 2 }), 2);
  assert.equal(await joints({ "arm-model": "" }), 1);
  await assert.rejects(() => joints({ "arm-model": "r2d2" }), /one of .*"ur5e"/);
});

const to = (x: number, y: number, z: number) => ({ x, y, z, oX: 0, oY: 0, oZ: 1, theta: 0 });

function assertNear(found: { x: number; y: number }, x: number, y: number): void {
  assert.ok(Math.hypot(found.x - x, found.y - y) < 0.02, `${found.x}, ${found.y}`);
}

Deno.test("moveToJointPositions() turns the one joint and the end with it", async () => {
  const one = await arm();
  assert.deepEqual(one.getJointPositions().positions.values, [0]);
  assertNear(one.getEndPosition().pose, 100, 0);
  const positions = { $typeName: "viam.component.arm.v1.JointPositions" as const, values: [45] };
  one.moveToJointPositions({ positions });
  assert.deepEqual(one.getJointPositions().positions.values, [45]);
  const { pose } = one.getEndPosition();
  assertNear(pose, Math.SQRT1_2 * 100, Math.SQRT1_2 * 100);
  assert.equal(pose.theta, 45);
});

Deno.test("moveToJointPositions() moves nothing when a position does not fit", async () => {
  const two = await arm(2);
  const positions = (values: number[]) => ({
    positions: { $typeName: "viam.component.arm.v1.JointPositions" as const, values },
  });
  assert.throws(() => two.moveToJointPositions(positions([1])), /1 joint positions.* 2 joints/);
  assert.throws(() => two.moveToJointPositions(positions([0, 361])), /joint 1 can't be at 361°/);
  assert.throws(
    () =>
      two.moveThroughJointPositions({
        positions: [positions([5, 5]).positions, positions([NaN, 0]).positions],
      }),
    /joint 0 can't be at NaN°/,
  );
  assert.deepEqual(two.getJointPositions().positions.values, [0, 0]);
});

Deno.test("moveToPosition() brings the end to every place in reach", async () => {
  const three = await arm(3);
  for (const [x, y] of [[150, 150], [-80, 40], [300, 0], [0, -250], [10, 0]] as const) {
    void three.moveToPosition({ to: to(x, y, 0) });
    assertNear(three.getEndPosition().pose, x, y);
  }
});

Deno.test("moveToPosition() says what the arm reaches when a place is out of reach", async () => {
  const one = await arm();
  assert.throws(
    () => one.moveToPosition({ to: to(50, 0, 0) }),
    /can't reach x 50, y 0, z 0; it reaches what is from 100 to 100 mm away/,
  );
  assert.throws(() => one.moveToPosition({ to: to(100, 0, 1) }), /can't reach/);
  assert.deepEqual(one.getJointPositions().positions.values, [0]);
});

Deno.test("reachPlanar() finds joints of any number for random places in reach", () => {
  let seed = 1;
  const random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
  for (let round = 0; round < 200; round++) {
    const joints = Array.from({ length: 2 + round % 5 }, () => random() * 360 - 180);
    const target = planarEnd(joints);
    const found = reachPlanar(joints.length, target);
    assert.ok(found, `round ${round}: ${joints}`);
    assertNear(planarEnd(found), target.x, target.y);
    assert.ok(found.every((angle) => Math.abs(angle) <= 360));
  }
});

Deno.test("getKinematics() describes each joint in both forms", async () => {
  const { model, kinematicsData, format } = (await arm(2)).getKinematics();
  assert.equal(format, 1);
  assert.deepEqual(model?.joints.map(({ id, parent }) => [id, parent]), [
    ["joint_0", "world"],
    ["joint_1", "joint_0_link"],
  ]);
  assert.deepEqual(model?.outputFrames, ["joint_1_link"]);
  const file = JSON.parse(new TextDecoder().decode(kinematicsData));
  assert.equal(file.kinematic_param_type, "SVA");
  assert.deepEqual(file.joints.map((joint: { max: number }) => joint.max), [360, 360]);
});

Deno.test("an arm with a form goes to a pose by its joints, or says that it can't", async () => {
  const ur5e = await construct<FakeArm, unknown>(fakeArmModel, { "arm-model": "ur5e" });
  const pose = { ...to(-300, -200, 350), oX: 0, oY: 0.6, oZ: -0.8, theta: 20 };
  await ur5e.moveToPosition({ to: pose }, testCall());
  const { pose: end } = ur5e.getEndPosition();
  for (const [field, value] of Object.entries(pose)) {
    const off = Math.abs(end[field as keyof typeof end] - value);
    assert.ok(off < 0.1, `${field}: ${JSON.stringify(end)}`);
  }
  const before = ur5e.getJointPositions();
  await assert.rejects(
    async () => await ur5e.moveToPosition({ to: to(2_000, 0, 0) }, testCall()),
    /no positions of its joints .* with which the end is at x 2000, y 0, z 0/,
  );
  assert.deepEqual(ur5e.getJointPositions(), before);
  const { format, kinematicsData } = ur5e.getKinematics();
  assert.equal(format, 1);
  assert.equal(JSON.parse(new TextDecoder().decode(kinematicsData)).kinematic_param_type, "DH");
});

Deno.test("kinematics come from attributes or a file, which GetKinematics gives back", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const path = join(dir, "two.urdf");
    const urdf = `<robot name="two">
      <link name="base"/><link name="a"/><link name="b"/>
      <joint name="turn" type="revolute"><parent link="base"/><child link="a"/>
        <axis xyz="0 0 1"/><limit lower="0.5" upper="1"/></joint>
      <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
        <axis xyz="1 0 0"/><limit lower="0" upper="0.1"/></joint></robot>`;
    await Deno.writeTextFile(path, urdf);
    const made = (attributes: JsonObject) => construct<FakeArm, unknown>(fakeArmModel, attributes);
    const two = await made({ "model-path": path });
    const { format, kinematicsData } = two.getKinematics();
    assert.deepEqual([format, new TextDecoder().decode(kinematicsData)], [2, urdf]);
    const [turn, slide] = two.getJointPositions().positions.values;
    assert.ok(turn! > 28 && turn! < 58 && slide === 0, "it begins within its limits");
    const values = (values: number[]) => ({
      positions: { $typeName: "viam.component.arm.v1.JointPositions" as const, values },
    });
    two.moveToJointPositions(values([45, 100]));
    assertNear(two.getEndPosition().pose, Math.SQRT1_2 * 100, Math.SQRT1_2 * 100);
    assert.throws(() => two.moveToJointPositions(values([45, 101])), /joint 1 can't be at 101 mm/);
    await assert.rejects(made({ kinematics: { a: 1 } }), /attributes\.kinematics: .*SVA or DH/);
    await Deno.writeTextFile(path, "<robot");
    await assert.rejects(made({ "model-path": path }), /two\.urdf: /);
    await assert.rejects(made({ "model-path": join(dir, "none.json") }), /none\.json/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("setManualMode() ends by itself after the seconds that are requested", async () => {
  const clock = new FakeClock();
  const one = await construct<FakeArm, unknown>(model({ clock }) as Model<unknown>);
  const isManual = () => one.getManualMode().manualMode;
  assert.equal(isManual(), false);
  one.setManualMode({ manualMode: true, enabledFor: 2 });
  assert.equal(isManual(), true);
  await clock.advance(2_000);
  assert.equal(isManual(), false);
  one.setManualMode({ manualMode: true, enabledFor: 0 });
  await clock.advance(3_600_000);
  assert.equal(isManual(), true);
  one.setManualMode({ manualMode: false, enabledFor: 5 });
  assert.equal(isManual(), false);
});
