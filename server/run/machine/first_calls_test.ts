import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { prepareFirstCalls } from "./first_calls.ts";

Deno.test("prepareFirstCalls() prepares one thing after the other", async () => {
  const clock = new FakeClock();
  let isPrepared = false;
  const webrtc = { prepare: () => void (isPrepared = true) };
  const prepared = prepareFirstCalls({ clock, webrtc }, new AbortController().signal);
  assert.ok(!Object.hasOwn(RobotService, "methods"));
  await clock.advance(300);
  assert.ok(Object.hasOwn(RobotService, "methods"));
  assert.ok(!Object.hasOwn(SignalingService, "methods"));
  await clock.advance(300);
  await clock.advance(300);
  assert.ok(!isPrepared);
  await clock.advance(300);
  await prepared;
  assert.ok(isPrepared);
  assert.ok(Object.hasOwn(SignalingService, "methods"));
});
