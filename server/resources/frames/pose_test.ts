import assert from "node:assert/strict";
import { compose, IDENTITY, inverse, ofPoseMessage, toPoseMessage, transformed } from "./pose.ts";

type Numbers = Record<"x" | "y" | "z" | "oX" | "oY" | "oZ" | "theta", number>;

const pose = (fields: Partial<Numbers>) =>
  ofPoseMessage({ x: 0, y: 0, z: 0, oX: 0, oY: 0, oZ: 1, theta: 0, ...fields });

function assertNear(found: object, wanted: object, tolerance = 1e-9): void {
  const numbers = found as Record<string, number>;
  for (const [name, value] of Object.entries(wanted)) {
    const difference = Math.abs(numbers[name]! - value);
    assert.ok(difference < tolerance, `${name}: ${numbers[name]}, wanted ${value}`);
  }
}

Deno.test("ofPoseMessage() takes no direction at all for up", () => {
  assertNear(toPoseMessage(pose({ oZ: 0, theta: 90 })), { oX: 0, oY: 0, oZ: 1, theta: 90 });
  assert.deepEqual(ofPoseMessage(undefined), IDENTITY);
});

Deno.test("toPoseMessage() gives back the orientation that was read, whatever its length", () => {
  const orientations = [
    { oX: 1, oY: 0, oZ: 0, theta: 30 },
    { oX: 0.6, oY: -0.8, oZ: 0, theta: -170 },
    { oX: 0.36, oY: 0.48, oZ: 0.8, theta: 12.5 },
    { oX: 0, oY: 0, oZ: -1, theta: 45 },
  ];
  for (const orientation of orientations) {
    assertNear(toPoseMessage(pose(orientation)), orientation);
    const { oX, oY, oZ, theta } = orientation;
    const longer = { oX: oX * 7, oY: oY * 7, oZ: oZ * 7, theta };
    assertNear(toPoseMessage(pose(longer)), orientation);
  }
});

Deno.test("compose() sees the inner pose from outside", () => {
  // The outer frame stands at x 100 and is turned a quarter to the left.
  const outer = pose({ x: 100, theta: 90 });
  assertNear(transformed(outer, { x: 10, y: 0, z: 5 }), { x: 100, y: 10, z: 5 });
  const seen = toPoseMessage(compose(outer, pose({ x: 10, theta: 45 })));
  assertNear(seen, { x: 100, y: 10, z: 0, oZ: 1, theta: 135 });
  // One that lies on its side: its z axis is the outer x axis.
  assertNear(transformed(pose({ oX: 1, oZ: 0 }), { x: 0, y: 0, z: 8 }), { x: 8, y: 0, z: 0 });
});

Deno.test("inverse() leads back", () => {
  const there = pose({ x: 3, y: -4, z: 5, oX: 0.36, oY: 0.48, oZ: 0.8, theta: 77 });
  for (const way of [compose(there, inverse(there)), compose(inverse(there), there)]) {
    assertNear(toPoseMessage(way), { x: 0, y: 0, z: 0, oZ: 1, theta: 0 });
  }
});
