import assert from "node:assert/strict";
import { driveOfKeys, driveOfStick, drives, STILL } from "./drive.ts";

Deno.test("keys drive together, opposite ones cancel out, others do nothing", () => {
  assert.deepEqual(driveOfKeys(["KeyW", "KeyA"]), { forward: 1, left: 1 });
  assert.deepEqual(driveOfKeys(["KeyW", "ArrowUp"]), { forward: 1, left: 0 });
  assert.deepEqual(driveOfKeys(["KeyW", "KeyS", "KeyD"]), { forward: 0, left: -1 });
  assert.deepEqual(driveOfKeys(["toString", "KeyQ"]), STILL);
  assert.ok(drives("ArrowLeft") && !drives("toString"));
});

Deno.test("a stick drives up to its edge, and not near its middle", () => {
  assert.deepEqual(driveOfStick(0.02, -0.02), STILL);
  assert.deepEqual(driveOfStick(0, -1), { forward: 1, left: 0 });
  assert.deepEqual(driveOfStick(-4, 0), { forward: 0, left: 1 });
  assert.deepEqual(driveOfStick(0, 0.5), { forward: -0.5, left: 0 });
});
