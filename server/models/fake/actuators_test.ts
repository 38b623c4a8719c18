import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import type { ButtonService } from "../../../shared/gen/viam/component/button/v1/button_pb.ts";
import type { GantryService } from "../../../shared/gen/viam/component/gantry/v1/gantry_pb.ts";
import type { GripperService } from "../../../shared/gen/viam/component/gripper/v1/gripper_pb.ts";
import type { ServoService } from "../../../shared/gen/viam/component/servo/v1/servo_pb.ts";
import type { SwitchService } from "../../../shared/gen/viam/component/switch/v1/switch_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { construct, testCall } from "../testing.ts";
import { fakeBaseModel } from "./base.ts";
import { fakeButtonModel } from "./button.ts";
import { fakeGantryModel } from "./gantry.ts";
import { fakeGripperModel } from "./gripper.ts";
import { fakeServoModel } from "./servo.ts";
import { fakeSwitchModel } from "./switch.ts";

const call = testCall();

Deno.test("setVelocity() of the base moves it until it is stopped or told nought", async () => {
  const base = await construct<Driver<typeof BaseService>, unknown>(fakeBaseModel);
  const at = (y: number) => ({ $typeName: "viam.common.v1.Vector3" as const, x: 0, y, z: 0 });
  const go = (y: number) =>
    base.setVelocity!({
      $typeName: "viam.component.base.v1.SetVelocityRequest",
      name: "b",
      linear: at(y),
    }, call);
  await go(10);
  assert.deepEqual(
    await base.isMoving!(
      { $typeName: "viam.component.base.v1.IsMovingRequest", name: "b" },
      call,
    ),
    { isMoving: true },
  );
  await base.stop!(call);
  assert.deepEqual(await base.getStatus!(call), { is_moving: false });
  await go(-1);
  await go(0);
  assert.deepEqual(await base.getStatus!(call), { is_moving: false });
});

Deno.test("getProperties() of the base tells the width in metres", async () => {
  const width = async (attributes = {}) => {
    const base = await construct<Driver<typeof BaseService>, unknown>(fakeBaseModel, attributes);
    const request = {
      $typeName: "viam.component.base.v1.GetPropertiesRequest",
      name: "b",
    } as const;
    return (await base.getProperties!(request, call)).widthMeters;
  };
  assert.equal(await width(), 0.6);
  assert.equal(await width({ width_mm: 250 }), 0.25);
});

Deno.test("moveToPosition() of the gantry moves no axis when one value does not fit", async () => {
  const gantry = await construct<Driver<typeof GantryService>, unknown>(fakeGantryModel, {
    lengths_mm: [100, 200],
  });
  const move = (positionsMm: number[]) =>
    gantry.moveToPosition!({
      $typeName: "viam.component.gantry.v1.MoveToPositionRequest",
      name: "g",
      positionsMm,
      speedsMmPerSec: [],
    }, call);
  await move([50, 200]);
  assert.throws(() => move([60, 201]), /positions_mm\[1\] is 201; .* 0 to 200 mm/);
  assert.throws(() => move([60]), /1 values; the gantry has 2 axes/);
  assert.throws(() => move([NaN, 1]), /positions_mm\[0\] is NaN/);
  assert.deepEqual((await gantry.getStatus!(call))["positions_mm"], [50, 200]);
});

Deno.test("goToInputs() of the gripper takes one value within the reach of its jaw", async () => {
  const gripper = await construct<Driver<typeof GripperService>, unknown>(fakeGripperModel);
  const go = (values: number[]) =>
    gripper.goToInputs!({
      $typeName: "viam.component.gripper.v1.GoToInputsRequest",
      name: "g",
      values,
    }, call);
  await go([40]);
  assert.deepEqual(await gripper.getStatus!(call), { open_mm: 40, is_moving: false });
  for (const wrong of [[], [1, 2], [101], [-1]]) {
    assert.throws(() => go(wrong), /takes one, from 0/);
  }
});

Deno.test("move() of the servo keeps the angle, up to 180 degrees", async () => {
  const servo = await construct<Driver<typeof ServoService>, unknown>(fakeServoModel);
  const move = (angleDeg: number) =>
    servo.move!({ $typeName: "viam.component.servo.v1.MoveRequest", name: "s", angleDeg }, call);
  await move(180);
  assert.throws(() => move(181), /0 to 180 degrees/);
  assert.deepEqual(await servo.getStatus!(call), { position_deg: 180, is_moving: false });
});

Deno.test("setPosition() of the switch keeps to its positions, which labels can name", async () => {
  const make = (attributes = {}) =>
    construct<Driver<typeof SwitchService>, unknown>(fakeSwitchModel, attributes);
  const move = (driver: Driver<typeof SwitchService>, position: number) =>
    driver.setPosition!({
      $typeName: "viam.component.switch.v1.SetPositionRequest",
      name: "s",
      position,
    }, call);
  const two = await make();
  await move(two, 1);
  assert.throws(() => move(two, 2), /position 2 is out of range; the switch has 0 to 1/);
  assert.deepEqual(await two.getStatus!(call), { position: 1 });
  const three = await make({ labels: ["off", "low", "high"] });
  await move(three, 2);
  await assert.rejects(
    make({ position_count: 2, labels: ["a"] }),
    /attributes\.labels: found 1 labels, allowed: 2/,
  );
});

Deno.test("push() of the button writes to the log", async () => {
  const log = memoryLogger();
  const button = await construct<Driver<typeof ButtonService>, unknown>(fakeButtonModel, {}, {
    log,
  });
  await button.push!({ $typeName: "viam.component.button.v1.PushRequest", name: "b" }, call);
  assert.deepEqual(log.messages("info"), ["pushed"]);
});
