import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { Event } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { webGamepadModel } from "../input/input_models.ts";
import type { WebGamepad } from "../input/web_gamepad.ts";
import { construct, testEnvironment } from "../testing.ts";
import { driveOf, type RemoteControl } from "./remote_control.ts";
import { remoteControlModel } from "./remote_control_model.ts";

interface Order {
  linear: { y: number };
  angular: { z: number };
}

async function setUp(attributes: object) {
  const clock = new FakeClock();
  const environment = testEnvironment({ clock });
  const orders: string[] = [];
  const order = (kind: string) =>
  (
    { linear, angular }: Order,
  ) => (orders.push(`${kind} ${linear.y} ${angular.z}`), {});
  const refusals = { left: 0 };
  const base = {
    setPower: order("power"),
    setVelocity: order("velocity"),
    stop() {
      if (refusals.left-- > 0) throw new Error("no answer");
      orders.push("stop");
    },
  } as Resource;
  const pad = await construct<WebGamepad, unknown>(webGamepadModel(environment));
  const remote = await construct<RemoteControl, unknown>(
    remoteControlModel(environment),
    { base: "base", input_controller: "pad", ...attributes },
    {
      dependencies: new Map<string, Resource>([
        ["rdk:component:base/base", base],
        ["rdk:component:input_controller/pad", pad],
      ]),
    },
  );
  const move = (control: string, value: number, event = "PositionChangeAbs") =>
    pad.triggerEvent({ event: { control, value, event } as Event });
  const seen = (last: string) => waitFor(() => orders.at(-1) === last, { deadlineMs: 60_000 });
  return { clock, orders, pad, remote, move, seen, refusals };
}

Deno.test("base remote control drives by power, and stops when the controller falls silent", async () => {
  const { clock, remote, pad, move, seen } = await setUp({ control_mode: "joyStickControl" });
  move("AbsoluteY", -0.5);
  await seen("power 0.5 0");
  move("AbsoluteX", 1);
  await seen("power 0.5 -1");
  await clock.advance(5_000);
  await seen("stop");
  move("AbsoluteY", -1);
  await seen("power 1 0");
  await remote.close();
  await seen("stop");
  pad.close();
});

Deno.test("base remote control drives by velocities with limits, and stops with its controller", async () => {
  const { pad, remote, move, seen, orders } = await setUp({
    control_mode: "buttonControl",
    max_linear_mm_per_sec: 400,
    max_angular_degs_per_sec: 90,
  });
  move("ButtonNorth", 1, "ButtonPress");
  await seen("velocity 400 0");
  move("ButtonWest", 1, "ButtonPress");
  await seen("velocity 400 90");
  await remote.stop();
  assert.equal(orders.at(-1), "stop");
  move("ButtonSouth", 1, "ButtonPress");
  await seen("velocity -400 0");
  assert.throws(() => move("ButtonNone", 1), /there is no control ButtonNone/);
  assert.throws(() => move("AbsoluteX", 7), /value is 7; it goes from -1 to 1/);
  pad.close();
  await seen("stop");
  await remote.close();
});

Deno.test("base remote control stops a base that did not stop at first", async () => {
  const { clock, remote, pad, move, seen, refusals } = await setUp({
    control_mode: "joyStickControl",
  });
  move("AbsoluteY", -0.5);
  await seen("power 0.5 0");
  refusals.left = 2;
  move("AbsoluteY", 0);
  await waitFor(() => "error" in remote.getStatus(), { deadlineMs: 60_000 });
  assert.match(remote.getStatus().error!, /base: no answer/);
  await clock.advance(1_000);
  await seen("stop");
  await waitFor(() => !("error" in remote.getStatus()), { deadlineMs: 60_000 });
  await remote.close();
  pad.close();
});

Deno.test("driveOf() reads the controls of each mode", () => {
  const values = new Map([
    ...[["AbsoluteHat0Y", -1], ["AbsoluteHat0X", 1], ["AbsoluteX", 0.04], ["AbsoluteY", 0.5]],
    ...[["AbsoluteZ", 0.25], ["AbsoluteRZ", 1], ["AbsoluteRX", -0.5], ["ButtonEast", 1]],
  ] as [string, number][]);
  assert.deepEqual(driveOf("arrowControl", values), { linear: 1, angular: -1 });
  assert.deepEqual(driveOf("triggerSpeedControl", values), { linear: 0.75, angular: 0 });
  assert.deepEqual(driveOf("buttonControl", values), { linear: 0, angular: -1 });
  assert.deepEqual(driveOf("joyStickControl", values), { linear: -0.5, angular: 0 });
  assert.deepEqual(driveOf("droneControl", values), { linear: -0.5, angular: 0.5 });
});
